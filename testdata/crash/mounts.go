package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// disk is a small file system of a run's own, in a mount namespace of its own,
// so that nothing is left of it whatever happens. It lies where the run's data
// folder is.
type disk struct {
	keeper *exec.Cmd // holds the namespace
	stdin  io.Closer
	enter  []string // before a command that is to run there
	path   string
}

// errNoMount says that this machine lets nobody mount.
var errNoMount = errors.New("cannot mount a file system: needs root or user namespaces")

// mount makes a disk of that many KB for a site.
func (s *site) mount(kb int) (*disk, error) {
	path := filepath.Join(s.dir, "data")
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", "-c", `mount --make-rprivate / && mount -t tmpfs -o size="$0"k crash "$1" && echo ready && read end`, strconv.Itoa(kb), path)
	d := &disk{keeper: cmd, path: path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	ns := []string{"-m"}
	if os.Geteuid() != 0 {
		ns = append(ns, "-U", "--preserve-credentials")
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	var err error
	if d.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoMount, err)
	}
	if line, _ := bufio.NewReader(said).ReadString('\n'); strings.TrimSpace(line) != "ready" {
		d.end()
		return nil, errNoMount
	}
	d.enter = append(append([]string{"nsenter", "-t", strconv.Itoa(cmd.Process.Pid)}, ns...), "sh", "-c", `cd "$0" && exec "$@"`, s.dir)
	s.wrap, s.root = d.enter, fmt.Sprintf("/proc/%d/root", cmd.Process.Pid)
	s.witness.store = s.folder("run.db")
	return d, nil
}

// do runs a command there.
func (d *disk) do(args ...string) error {
	if text, err := exec.Command(d.enter[0], append(d.enter[1:len(d.enter):len(d.enter)], args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, text)
	}
	return nil
}

// remount changes the disk. The options that it has are not given again, as
// mount does by itself: in a user namespace some of them are refused.
func (d *disk) remount(how string) error {
	return d.do("mount", "-i", "-o", "remount,"+how, "crash", d.path)
}

// end gives the disk up.
func (d *disk) end() {
	d.stdin.Close()
	_ = d.keeper.Wait()
}
