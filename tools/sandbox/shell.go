package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// maxState bounds what one shell leaves to the next, in bytes.
const maxState = 1 << 20

var errNoShell = errors.New("neither bash nor sh is installed")

// findShell returns the shell that runs commands.
func findShell(path string) (string, error) {
	for _, name := range []string{"bash", "sh"} {
		for _, dir := range filepath.SplitList(path + ":" + defaultPath) {
			file := filepath.Join(dir, name)
			if !filepath.IsAbs(file) {
				continue
			}
			if _, err := exec.LookPath(file); err == nil {
				return file, nil
			}
		}
	}
	return "", errNoShell
}

// The descriptors under which the shell gets the script and the state that the
// last shell left. It closes both before it runs the script.
const (
	scriptFd = 3
	envFd    = 4
)

// A wrapper is what the shell is given to run with -c: it brings back the state
// that the last shell left, runs the script, and leaves its own state on exit.
//
// The script comes from a file, which has no limit of size and does not show
// up in a process list, and is evaluated, not sourced: only so do `return`,
// syntax errors, line numbers and here-documents behave as under -c. All of
// it is one line, so that the script's own lines count from one. In bash the
// variable BASH_EXECUTION_STRING holds what it would hold under -c.
type wrapper struct {
	bash  bool
	env   bool // there is a state to bring back, whose environment is envFd
	dir   string
	mark  string
	state string // the name of the file for the state that is left
}

func (w wrapper) text() string {
	var b strings.Builder
	script := `"$BASH_EXECUTION_STRING"`
	if w.bash {
		fmt.Fprintf(&b, "IFS= read -r -d '' BASH_EXECUTION_STRING <&%d; ", scriptFd)
	} else {
		// The dot keeps the script's last newlines, which $(...) would drop.
		fmt.Fprintf(&b, "BASH_EXECUTION_STRING=$(command -p cat <&%d; echo .); ", scriptFd)
		script = `"${BASH_EXECUTION_STRING%.}"`
	}
	switch {
	case w.env && w.bash:
		fmt.Fprintf(&b, "IFS= read -r -d '' %s <&%d; ", MarkName, envFd)
	case w.env:
		fmt.Fprintf(&b, "%s=$(command -p cat <&%d); ", MarkName, envFd)
	}
	fmt.Fprintf(&b, "exec %d<&- %d<&-; ", scriptFd, envFd)
	if w.env {
		// The state holds no mark, so that its variable is free until here.
		fmt.Fprintf(&b, `eval "$%s" 2>/dev/null; export %s=%s; PWD=%s; `, MarkName, MarkName, quote(w.mark), quote(w.dir))
	}
	fmt.Fprintf(&b, "trap %s EXIT; eval %s", quote(w.leave()), script)
	return b.String()
}

// leave is the exit trap. It is written for shells in any mode: traced, with
// errexit or noclobber, with functions named like builtins; and it does not
// touch the exit status.
func (w wrapper) leave() string {
	functions := ""
	if w.bash {
		functions = "command export -fp; "
	}
	return "{ set +x; unset " + MarkName + "; command pwd; command printf '\\0'; command export -p; " +
		functions + "command printf '\\0'; } 2>/dev/null >|" + w.state + " || :"
}

// quote makes one word of s for a shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// memoryFile makes a file that lies on no disk, positioned at its start.
func memoryFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("call", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "call")
	if _, err := f.WriteAt(content, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	return f, nil
}

// readState reads what the shell left; ok is false if it left nothing, or
// nothing that can be kept.
func readState(f *os.File) (state Shell, ok bool) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxState+1))
	if err != nil || len(b) > maxState {
		return Shell{}, false
	}
	return parseState(b)
}

func parseState(b []byte) (Shell, bool) {
	cwd, rest, ok := bytes.Cut(b, []byte{0})
	env, end, ok2 := bytes.Cut(rest, []byte{0})
	cwd, ok3 := bytes.CutSuffix(cwd, []byte("\n"))
	if !ok || !ok2 || !ok3 || len(end) > 0 || len(env) == 0 || !utf8.Valid(b) || !filepath.IsAbs(string(cwd)) {
		return Shell{}, false
	}
	return Shell{Cwd: string(cwd), Env: string(env)}, true
}
