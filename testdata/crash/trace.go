package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hermes-batch/testdata/shipped"
)

// blow is what is done to the program at one of its system calls.
type blow struct {
	op    string        // kind of call that counts, one of ops; "" for all
	area  string        // where the call's file lies, see areaOf; "" for all
	n     int           // number of the call that is hit, from 1 over all threads; 0 hits none
	on    bool          // all later ones too
	after bool          // the call is done first; only for deaths
	errno syscall.Errno // the call fails with this; 0 kills the program
}

// String tells it after the words "the program is".
func (b blow) String() string {
	what := "killed before"
	switch {
	case b.errno != 0 && b.on:
		what = fmt.Sprintf("%s from", unix.ErrnoName(b.errno))
	case b.errno != 0:
		what = fmt.Sprintf("%s at", unix.ErrnoName(b.errno))
	case b.after:
		what = "killed after"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %d %s", what, b.op, b.n, b.area))
}

// op is a kind of system call that leaves something behind.
type op struct {
	name    string
	numbers []uint64
	fd      int // argument that is the file's descriptor, or -1
	path    int // argument that is its path, after that of the folder; or -1
}

var ops = []op{
	{"sync", []uint64{unix.SYS_FSYNC, unix.SYS_FDATASYNC}, 0, -1},
	{"write", []uint64{unix.SYS_WRITE, unix.SYS_PWRITE64}, 0, -1},
	{"truncate", []uint64{unix.SYS_FTRUNCATE}, 0, -1},
	{"map", []uint64{unix.SYS_MMAP}, 4, -1},
	{"create", []uint64{unix.SYS_OPENAT}, -1, 1},
	{"mkdir", []uint64{unix.SYS_MKDIRAT}, -1, 1},
	{"rename", []uint64{unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2}, -1, 1},
	{"remove", []uint64{unix.SYS_UNLINKAT}, -1, 1},
	{"exec", []uint64{unix.SYS_EXECVE}, -1, -1},
}

// The areas of a run's files.
const (
	store   = "of the store"
	files   = "of the output"
	sandbox = "of a sandbox"
)

func areaOf(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	switch {
	case err != nil || strings.HasPrefix(rel, ".."):
		return ""
	case strings.HasPrefix(rel, "state"):
		return sandbox
	case strings.HasPrefix(rel, filepath.Join("data", runName, "run.")):
		return store
	case strings.HasPrefix(rel, "data"):
		return files
	}
	return ""
}

// tracer runs the program and counts its system calls, by ptrace: strace counts
// for each thread alone, so that its nth call is none of the program's. The
// program's commands are its own processes and are let go as they begin.
type tracer struct {
	dir    string
	blow   blow
	pid    int
	known  map[int]bool          // threads that have stopped before
	result map[int]syscall.Errno // thread → what its call, which is not done, ends with
	last   map[int]bool          // threads in a call after which the program dies
	met    []met                 // the calls that count
	status syscall.WaitStatus
}

// met is a call that counts.
type met struct{ op, area, file string }

func (m met) String() string { return strings.TrimSpace(m.op + " " + m.file) }

// traced runs the program under a blow and lists the calls of its kind.
func (s *site) traced(b blow) (e shipped.Ending, calls []met, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for ever: only the thread that traces may do so, and all that is traced ends with it
		t := &tracer{dir: s.dir, blow: b, known: map[int]bool{}, result: map[int]syscall.Errno{}, last: map[int]bool{}}
		e, err = t.run(s.t.binary, s.arguments())
		calls = t.met
	}()
	<-done
	return e, calls, err
}

func (t *tracer) run(path string, args []string) (shipped.Ending, error) {
	out, err := shipped.Output()
	if err != nil {
		return shipped.Ending{}, err
	}
	process, err := os.StartProcess(path, append([]string{path}, args...), &os.ProcAttr{
		Dir: t.dir, Env: shipped.Environment(os.Environ()), Files: []*os.File{nil, out, out}, Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		out.Close()
		return shipped.Ending{}, err
	}
	t.pid = process.Pid
	limit := time.AfterFunc(patience, func() { _ = syscall.Kill(t.pid, syscall.SIGQUIT) }) // it shows its goroutines
	defer limit.Stop()
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case err == syscall.EINTR:
		case err == syscall.ECHILD:
			return shipped.EndingOf(t.status, out), nil
		case err != nil:
			out.Close()
			return shipped.Ending{}, err
		case !status.Stopped():
			if tid == t.pid {
				t.status = status
			}
		default:
			if err := t.stopped(tid, status); err != nil && !errors.Is(err, syscall.ESRCH) { // it was killed meanwhile
				out.Close()
				return shipped.Ending{}, err
			}
		}
	}
}

// sysGood marks the stops at system calls.
const sysGood = 0x80

// stopped deals with one stop of a thread and lets it go on.
func (t *tracer) stopped(tid int, status syscall.WaitStatus) error {
	signal := status.StopSignal()
	switch {
	case len(t.known) == 0: // the program has begun
		t.known[tid] = true
		err := syscall.PtraceSetOptions(tid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACEFORK|
			unix.PTRACE_O_TRACEVFORK|unix.PTRACE_O_TRACEEXEC|unix.PTRACE_O_EXITKILL)
		if err != nil {
			return err
		}
	case signal == syscall.SIGTRAP|sysGood:
		if err := t.atCall(tid); err != nil {
			return err
		}
	case signal == syscall.SIGTRAP && status.TrapCause() == unix.PTRACE_EVENT_EXEC: // a command's supervisor
		t.leaving(tid)
		return syscall.PtraceDetach(tid)
	case signal == syscall.SIGTRAP && status.TrapCause() > 0: // a new thread or process, which will stop itself
	case signal == syscall.SIGSTOP && !t.known[tid]:
		t.known[tid] = true
	default:
		return syscall.PtraceSyscall(tid, int(signal))
	}
	return syscall.PtraceSyscall(tid, 0)
}

// callInfo is the kernel's struct ptrace_syscall_info.
type callInfo struct {
	op     uint8 // 1: entering, 2: leaving
	_      [3]uint8
	_      uint32
	_, _   uint64
	number uint64
	args   [6]uint64
	_      uint64
}

const ptraceGetCallInfo = 0x420e

func (t *tracer) atCall(tid int) error {
	var info callInfo
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, ptraceGetCallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return errno
	}
	if info.op != 1 {
		return t.leaving(tid)
	}
	if info.number == unix.SYS_PRCTL && info.args[0] == unix.PR_SET_DUMPABLE && os.Geteuid() != 0 {
		t.result[tid] = 0 // the program hides its memory and files; only root sees them then
		return skipCall(tid)
	}
	if !t.counts(tid, &info) {
		return nil
	}
	seen := len(t.met)
	switch {
	case t.blow.n == 0 || seen < t.blow.n || seen > t.blow.n && !t.blow.on:
		return nil
	case t.blow.errno != 0:
		t.result[tid] = t.blow.errno
		return skipCall(tid)
	case t.blow.after:
		t.last[tid] = true
		return nil
	}
	return syscall.Kill(t.pid, syscall.SIGKILL)
}

// leaving ends a call that was hit.
func (t *tracer) leaving(tid int) error {
	if result, ok := t.result[tid]; ok {
		delete(t.result, tid)
		return setResult(tid, result)
	}
	if t.last[tid] {
		delete(t.last, tid)
		return syscall.Kill(t.pid, syscall.SIGKILL)
	}
	return nil
}

// counts tells whether a call is of the kind that is counted, and notes it.
func (t *tracer) counts(tid int, info *callInfo) bool {
	for _, o := range ops {
		if t.blow.op != "" && t.blow.op != o.name || !slices.Contains(o.numbers, info.number) {
			continue
		}
		if o.name == "exec" {
			t.met = append(t.met, met{op: o.name})
			return true
		}
		path := t.file(tid, o, info)
		area := areaOf(t.dir, path)
		if area == "" || t.blow.area != "" && t.blow.area != area {
			return false
		}
		t.met = append(t.met, met{o.name, area, filepath.Base(path)})
		return true
	}
	return false
}

// file is the path that a call is about, "" if there is none.
func (t *tracer) file(tid int, o op, info *callInfo) string {
	if o.fd >= 0 {
		return descriptor(tid, info.args[o.fd])
	}
	if o.name == "create" && info.args[2]&syscall.O_CREAT == 0 {
		return ""
	}
	var text [4096]byte
	n, _ := syscall.PtracePeekData(tid, uintptr(info.args[o.path]), text[:256]) // what lies beyond the page of a short one cannot be read
	path, _, _ := bytes.Cut(text[:n], []byte{0})
	switch dir := int32(info.args[o.path-1]); {
	case filepath.IsAbs(string(path)):
		return string(path)
	case dir == unix.AT_FDCWD:
		return filepath.Join(t.dir, string(path))
	default:
		return filepath.Join(descriptor(tid, uint64(dir)), string(path))
	}
}

func descriptor(tid int, fd uint64) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, int32(fd))) // memory has none
	return path
}
