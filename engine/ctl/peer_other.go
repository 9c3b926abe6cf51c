//go:build !linux

package ctl

import "net"

// checkPeer trusts the modes of the socket and its folder, since what tells
// the user at the other end differs from system to system.
func checkPeer(*net.UnixConn) error { return nil }
