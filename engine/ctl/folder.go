package ctl

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// longestPath leaves room below the 108 bytes that a socket path may
	// have on Linux (104 elsewhere), its end included.
	longestPath = 99

	folderPrefix = "hermes-batch-"
	socketName   = "ctl"
)

// socketPath makes a private folder for the socket of that store and returns
// the path to listen at. The folder's name is made from identity, so that what
// a run left behind when it was killed is taken over by the next one.
func socketPath(identity string) (string, error) {
	sum := sha256.Sum256([]byte(identity))
	name := fmt.Sprintf("%s%x", folderPrefix, sum[:8])
	var errs []error
	for _, base := range bases() {
		for _, try := range []func(base, name string) (string, error){takeFolder, newFolder} {
			dir, err := try(base, name)
			if err == nil {
				return filepath.Join(dir, socketName), nil
			}
			errs = append(errs, err)
		}
	}
	return "", fmt.Errorf("no folder for the run's socket: %w", errors.Join(errs...))
}

// bases are the folders that the private one may lie in, the best first.
func bases() []string {
	var list []string
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		longest := filepath.Join(dir, folderPrefix+"0123456789abcdef", socketName)
		if filepath.IsAbs(dir) && len(longest) <= longestPath {
			list = append(list, dir)
		}
	}
	return list
}

// newFolder makes a folder under a name that nobody has.
func newFolder(base, _ string) (string, error) {
	dir, err := os.MkdirTemp(base, folderPrefix)
	if err != nil || len(dir)+1+len(socketName) <= longestPath {
		return dir, err
	}
	return "", errors.Join(fmt.Errorf("%s: too long for a socket", dir), os.Remove(dir))
}

// takeFolder makes the folder of that name, or takes it if it is there, is
// the user's own and private, and nobody listens in it.
func takeFolder(base, name string) (string, error) {
	dir := filepath.Join(base, name)
	err := os.Mkdir(dir, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return dir, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ownFile(info) {
		return "", fmt.Errorf("%s: not a private folder", dir)
	}
	socket := filepath.Join(dir, socketName)
	if conn, err := net.DialTimeout("unix", socket, time.Second); err == nil {
		conn.Close()
		return "", fmt.Errorf("%s: somebody listens already", socket)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return dir, nil
}
