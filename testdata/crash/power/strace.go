package power

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strconv"
	"strings"
)

// traced are the system calls that are recorded: all that change files or
// folders or make them durable, and those that say which file a descriptor is.
// Reads are left out, since what matters here is written at known places.
var traced = strings.Join([]string{
	"open,openat,openat2,creat,close,close_range,dup,dup2,dup3,fcntl,lseek,mmap,msync",
	"write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile,splice",
	"ftruncate,truncate,fallocate,fsync,fdatasync,sync,syncfs",
	"rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir",
	"chdir,fchdir,clone,clone3,fork,vfork,socket,connect,exit_group",
}, ",")

// longest is what strace shows of one write, in bytes. A write that is longer
// is found to be cut, and is an error.
const longest = 32 << 20

// straceArgs make strace write everything, in numbers and hexadecimal digits,
// to a file.
func straceArgs(out string, command ...string) []string {
	return append([]string{"-f", "--seccomp-bpf", "-qq", "-xx", "-X", "raw", "-s", strconv.Itoa(longest),
		"-e", "signal=none", "-e", "trace=" + traced, "-o", out, "--"}, command...)
}

// findStrace returns the strace of this machine, or why it cannot be used.
func findStrace() (string, error) {
	path, err := exec.LookPath("strace")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoStrace, err)
	}
	if said, err := exec.Command(path, straceArgs("/dev/null", "true")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %w: %s", ErrNoStrace, err, bytes.TrimSpace(said))
	}
	return path, nil
}

// call is one system call. A thread enters it at one line of the recording and
// comes back at the same or a later one, and lines are in the order in which
// that happened: what a thread does because of another's call stands below it.
type call struct {
	thread      int
	name        string
	args        []string
	ret         int64 // -1: it failed
	enter, exit int
}

// never is the exit of a call that did not come back.
const never = math.MaxInt

// parseTrace reads what strace wrote. Lines are numbered from first on.
func parseTrace(in io.Reader, first int) (calls []*call, next int, err error) {
	type half struct {
		call *call
		text string
	}
	open := map[int]half{}
	lines := bufio.NewReaderSize(in, 1<<20)
	for next = first; ; next++ {
		raw, err := lines.ReadString('\n')
		if err == io.EOF && raw == "" {
			break
		}
		if err != nil && err != io.EOF {
			return nil, next, err
		}
		pid, rest, ok := strings.Cut(strings.TrimSuffix(raw, "\n"), " ")
		thread, err := strconv.Atoi(pid)
		if err != nil || !ok {
			return nil, next, fmt.Errorf("strace wrote %.80q", raw)
		}
		rest = strings.TrimLeft(rest, " ")
		var text string
		var c *call
		switch resumed, isRest := strings.CutPrefix(rest, "<... "); {
		case strings.HasPrefix(rest, "+++"), strings.HasPrefix(rest, "---"):
			continue
		case isRest:
			h, known := open[thread]
			_, tail, ok := strings.Cut(resumed, " resumed>")
			if !known || !ok {
				return nil, next, fmt.Errorf("strace goes on with a call that did not begin: %.80q", raw)
			}
			delete(open, thread)
			c, text = h.call, h.text+tail
		default:
			name, args, ok := strings.Cut(rest, "(")
			if !ok {
				return nil, next, fmt.Errorf("strace wrote %.80q", raw)
			}
			c, text = &call{thread: thread, name: name, enter: next}, args
			calls = append(calls, c)
			if begun, cut := strings.CutSuffix(args, " <unfinished ...>"); cut {
				c.exit, c.ret = never, -1
				c.args = splitArgs(begun)
				open[thread] = half{c, begun}
				continue
			}
		}
		c.exit = next
		if err := c.finish(text); err != nil {
			return nil, next, fmt.Errorf("%w in %.200q", err, raw)
		}
	}
	return calls, next, nil
}

// finish takes "ARGS) = RESULT".
func (c *call) finish(text string) error {
	at := 0
	for {
		n := strings.IndexByte(text[at:], ')')
		if n < 0 {
			return fmt.Errorf("no result of %s", c.name)
		}
		at += n + 1
		if value, ok := strings.CutPrefix(strings.TrimLeft(text[at:], " "), "= "); ok {
			c.args = splitArgs(text[:at-1])
			value, _, _ = strings.Cut(value, " ")
			c.ret = -1
			if value == "?" {
				return nil
			}
			ret, err := strconv.ParseInt(value, 0, 64)
			if err != nil && c.name != "mmap" { // whose result is an address
				return fmt.Errorf("result %q of %s", value, c.name)
			}
			c.ret = ret
			return nil
		}
	}
}

// splitArgs cuts arguments at the commas that are not inside of a structure.
// Strings are hexadecimal digits, so that none holds a comma.
func splitArgs(text string) (args []string) {
	depth, from := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if end := strings.IndexByte(text[i+1:], '"'); end >= 0 {
				i += end + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				args = append(args, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
	}
	if rest := strings.TrimSpace(text[from:]); rest != "" {
		args = append(args, rest)
	}
	return args
}

// number is an argument that is a number, or flags joined by bars.
func (c *call) number(i int) int64 {
	if i >= len(c.args) {
		return 0
	}
	sum := int64(0)
	for _, part := range strings.Split(c.args[i], "|") {
		n, err := strconv.ParseInt(part, 0, 64)
		if err != nil {
			if u, err := strconv.ParseUint(part, 0, 64); err == nil {
				n = int64(u)
			}
		}
		sum |= n
	}
	return sum
}

// field is a number that has a name, as an argument or in a structure.
func (c *call) field(name string) int64 {
	for _, a := range c.args {
		if _, value, ok := strings.Cut(a, name+"="); ok {
			value, _, _ = strings.Cut(value, ",")
			return (&call{args: []string{strings.TrimRight(value, "}")}}).number(0)
		}
	}
	return 0
}

// bytes is an argument that is a string, or a list of structures with strings:
// what a call writes. A cut one is an error.
func (c *call) bytes(i int) ([]byte, error) {
	if i >= len(c.args) {
		return nil, fmt.Errorf("%s has no argument %d", c.name, i)
	}
	var all []byte
	for rest := c.args[i]; ; {
		_, after, ok := strings.Cut(rest, `"`)
		if !ok {
			return all, nil
		}
		hex, tail, ok := strings.Cut(after, `"`)
		if !ok || strings.HasPrefix(tail, "...") {
			return nil, fmt.Errorf("strace cut an argument of %s", c.name)
		}
		for ; len(hex) >= 4; hex = hex[4:] {
			all = append(all, digit(hex[2])<<4|digit(hex[3]))
		}
		rest = tail
	}
}

func digit(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// path is an argument that names a file.
func (c *call) path(i int) string {
	b, err := c.bytes(i)
	if err != nil {
		return ""
	}
	return string(b)
}
