package sandbox

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exit codes that a shell has by convention.
const (
	exitTimeout = 124
	exitNoDir   = 126
	exitSignal  = 128 // plus the signal's number
)

// settle is how long processes are given to die of SIGKILL before the process
// table is searched again for those that it did not reach.
const settle = 20 * time.Millisecond

// attend watches the command to its end, reports it, and stays as long as
// processes are left that the command started.
func (s *supervisor) attend() int {
	if s.shell == 0 {
		return s.leave(true)
	}
	why := s.watch()
	if why == byStop {
		// No result: the call is lost, and is said to be.
		return s.leave(s.end(stopGrace))
	}
	clean := true
	if why != byItself {
		clean = s.end(s.spec.Grace)
	}
	s.drain()
	s.conclude(s.result(why))
	clean = clean && s.linger()
	if s.job != nil {
		s.job.part()
	}
	return s.leave(clean)
}

// collect reads the output to its end, and goes on for as long as background
// processes write: they are not to be held up.
func (s *supervisor) collect() {
	drained := sync.OnceFunc(func() { close(s.drained) })
	defer drained()
	buf := make([]byte, 32<<10)
	for {
		n, err := s.pipe.Read(buf)
		_, _ = s.output.Write(buf[:n])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = s.pipe.SetReadDeadline(time.Time{})
			s.collectRest(buf)
			drained()
		case err != nil:
			return
		}
	}
}

// collectRest reads what is in the pipe at this moment, and no more: somebody
// may be filling it.
func (s *supervisor) collectRest(buf []byte) {
	conn, err := s.pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		left, _ := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		for left > 0 {
			n, err := unix.Read(int(fd), buf[:min(left, len(buf))])
			if err != nil || n == 0 {
				return
			}
			_, _ = s.output.Write(buf[:n])
			left -= n
		}
	})
}

// drain waits until the output has come: to its end, if nobody holds the pipe
// any more, else all that was written before the shell ended, and what comes
// within the limit.
func (s *supervisor) drain() {
	_ = s.pipe.SetReadDeadline(time.Now().Add(drainLimit))
	<-s.drained
}

// An ending is what brings a command to its end.
type ending int

const (
	byItself  ending = iota
	byTimeout        // or the deadline
	byKill           // asked for
	byStop           // the supervisor is told to end
)

// watch waits for the end of the shell, or for what ends it.
func (s *supervisor) watch() ending {
	var timeout <-chan time.Time
	if s.spec.Timeout > 0 {
		timeout = time.After(time.Until(s.begun.Add(s.spec.Timeout)))
	}
	var kill chan struct{}
	if s.job != nil {
		kill = s.job.kill
	}
	for {
		if s.reap(); s.ended {
			return byItself
		}
		select {
		case <-s.children:
		case <-s.stop:
			return byStop
		case <-timeout:
			return byTimeout
		case <-s.deadline:
			return byTimeout
		case <-kill:
			return byKill
		}
	}
}

// conclude tells how the command ended. Of a job that is told to who asks; the
// program knows already that it started.
func (s *supervisor) conclude(r Result) {
	if s.job == nil {
		s.publish(r)
		return
	}
	_ = record{Result: &r}.note(s.file)
	s.job.end(r)
}

// linger stays as parent of the processes that outlived the shell. It ends
// them when it is told to, and at the deadline.
func (s *supervisor) linger() bool {
	s.output.forget()
	for s.reap() {
		select {
		case <-s.children:
		case <-s.stop:
			return s.end(stopGrace)
		case <-s.deadline:
			return s.end(stopGrace)
		}
	}
	return true
}

// leave records whether anything is left.
func (s *supervisor) leave(clean bool) int {
	if !clean {
		return 1
	}
	_ = record{Ended: true}.note(s.file)
	return 0
}

func (s *supervisor) result(why ending) Result {
	r := Result{Took: s.took, TimedOut: why == byTimeout, Killed: why == byKill}
	if !s.ended {
		r.Took = time.Since(s.begun)
	}
	s.output.seal()
	r.Full = s.output.full()
	if s.job != nil {
		r.Output, r.Dropped = s.output.end()
	} else {
		r.Output, r.Dropped = s.output.text()
		r.Shell = s.spec.Shell
		if state, ok := readState(s.state); ok {
			r.Shell = state
		}
	}
	switch {
	case r.TimedOut:
		r.ExitCode = exitTimeout
	case s.status.Signaled():
		r.ExitCode = exitSignal + int(s.status.Signal())
	default:
		r.ExitCode = s.status.ExitStatus()
	}
	if s.ended && s.status.Signaled() {
		r.Signal = unix.SignalName(s.status.Signal())
	}
	return r
}

// reap collects the children that have ended, adopted ones included, and says
// whether there are others.
func (s *supervisor) reap() (alive bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return false
		case pid == 0:
			return true
		case pid == s.shell:
			s.ended, s.status, s.took = true, status, time.Since(s.begun)
		}
	}
}

// end ends every process that comes from the command: politely, and after the
// grace by force. It says whether none is left.
func (s *supervisor) end(grace time.Duration) bool {
	s.signal(unix.SIGTERM)
	if s.gone(grace) {
		return true
	}
	// As their subreaper it becomes the parent of every process whose own
	// parent dies, so that none drops out of the tree while it is cut down.
	for limit := time.Now().Add(killLimit); time.Now().Before(limit); {
		s.signal(unix.SIGKILL)
		if s.gone(settle) {
			return true
		}
	}
	return false
}

// gone waits until no child is left, for at most d.
func (s *supervisor) gone(d time.Duration) bool {
	limit := time.After(d)
	for s.reap() {
		select {
		case <-s.children:
		case <-limit:
			return !s.reap()
		}
	}
	return true
}

// signal sends a signal to the shell's process group, at once, and to the
// descendants outside of it.
func (s *supervisor) signal(sig syscall.Signal) {
	list, _ := processes()
	tree := descendants(list, syscall.Getpid())
	// Once the shell is reaped its number is its group's only while the group
	// has members.
	group := !s.ended
	for _, p := range tree {
		group = group || p.group == s.shell
	}
	if group {
		_ = syscall.Kill(-s.shell, sig)
	}
	for _, p := range tree {
		if p.group != s.shell {
			_ = syscall.Kill(p.pid, sig)
		}
	}
}
