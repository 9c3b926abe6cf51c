package sandbox

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a line of the kernel's process table.
type process struct {
	pid, parent, group, session int
	start                       uint64 // clock ticks since boot
	zombie                      bool
}

// readProcess reads /proc/PID/stat.
func readProcess(pid string) (process, error) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return process{}, err
	}
	return parseStat(b)
}

var errStat = errors.New("bad process status line")

// parseStat reads a process status line. The second field is the command's
// name in parentheses, which may itself hold spaces and parentheses.
func parseStat(b []byte) (p process, err error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return p, errStat
	}
	rest := strings.Fields(string(b[end+1:]))
	if len(rest) < 20 {
		return p, errStat
	}
	p.zombie = rest[0] == "Z" || rest[0] == "X"
	for _, field := range []struct {
		to   *int
		text string
	}{
		{&p.pid, strings.TrimSpace(string(b[:open]))},
		{&p.parent, rest[1]},
		{&p.group, rest[2]},
		{&p.session, rest[3]},
	} {
		if *field.to, err = strconv.Atoi(field.text); err != nil {
			return p, errStat
		}
	}
	if p.start, err = strconv.ParseUint(rest[19], 10, 64); err != nil {
		return p, errStat
	}
	return p, nil
}

// processes lists the processes that can be seen. Those that end meanwhile are
// left out.
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var list []process
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if p, err := readProcess(name); err == nil {
			list = append(list, p)
		}
	}
	return list, nil
}

// descendants picks from list those that come from the process pid.
func descendants(list []process, pid int) []process {
	children := make(map[int][]process, len(list))
	for _, p := range list {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
	for queue := children[pid]; len(queue) > 0; {
		found = append(found, queue...)
		var next []process
		for _, p := range queue {
			next = append(next, children[p.pid]...)
		}
		queue = next
	}
	return found
}

// marked says whether the process was started with a mark variable that begins
// with value. It is false for processes of other users.
func (p process) marked(value string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
	if err != nil {
		return false
	}
	want := []byte(MarkName + "=" + value)
	return bytes.HasPrefix(b, want) || bytes.Contains(b, append([]byte{0}, want...))
}

// signal sends a signal to this very process, not to a later one with its pid.
func (p process) signal(sig unix.Signal) error {
	proc, err := os.FindProcess(p.pid)
	if err != nil {
		return err
	}
	defer proc.Release()
	now, err := readProcess(strconv.Itoa(p.pid))
	if err != nil || now.start != p.start {
		return os.ErrProcessDone
	}
	return proc.Signal(sig)
}

const killLimit = 10 * time.Second

var errSurvivors = errors.New("processes of the sandbox cannot be ended")

// killMatching kills the processes that match until there are none. Several
// passes, since one that is not dead yet may have started another; and none
// twice, since one that is just being executed shows no environment.
func killMatching(match func(list []process) []process) error {
	calm := false
	for end := time.Now().Add(killLimit); ; {
		list, err := processes()
		if err != nil {
			return err
		}
		found := match(list)
		if len(found) == 0 && calm {
			return nil
		}
		if calm = len(found) == 0; calm {
			time.Sleep(settle)
			continue
		}
		if time.Now().After(end) {
			return errSurvivors
		}
		for _, p := range found {
			_ = p.signal(unix.SIGKILL) // the next pass sees whether it worked
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// killMarked kills the processes whose mark begins with value.
func killMarked(value string) error {
	return killMatching(func(list []process) (found []process) {
		for _, p := range list {
			if !p.zombie && p.marked(value) {
				found = append(found, p)
			}
		}
		return found
	})
}

// members picks from list what is left of the session that a shell led. If
// its leader still lives it must be that shell; if not, its number cannot have
// been given to another process while members live.
func members(list []process, r record) (found []process) {
	for _, p := range list {
		if p.pid == r.Group && p.start != r.GroupStart {
			return nil
		}
		if p.session == r.Group && p.start >= r.GroupStart && !p.zombie {
			found = append(found, p)
		}
	}
	return found
}

// bootID tells one start of the machine from another.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

// pidSpace tells one process table from another: two containers of one machine
// share its boot, not its pids.
func pidSpace() string {
	s, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "unknown"
	}
	return s
}
