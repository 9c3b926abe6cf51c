package sandbox

import (
	"bytes"
	"errors"
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

// wrapper is what the shell is given to run with -c: it brings back the state
// that the last shell left, runs the script, and leaves its own state on exit.
//
// The script comes from a file, which has no limit of size and does not show
// up in a process list, and is evaluated, not sourced: only so do `return`,
// syntax errors, line numbers and here-documents behave as under -c. All of
// it is one line, so that the script's own lines count from one. In bash the
// variable BASH_EXECUTION_STRING holds what it would hold under -c.
func wrapper(shell string, c call, s spec, mark string) string {
	isBash := filepath.Base(shell) == "bash"
	var w strings.Builder
	script := quote(c.file(scriptFile))
	if isBash {
		w.WriteString("IFS= read -r -d '' BASH_EXECUTION_STRING <" + script + "; ")
	} else {
		// The dot keeps the script's last newlines, which $(…) would drop.
		w.WriteString("BASH_EXECUTION_STRING=$(command -p cat " + script + "; echo .); ")
	}
	if s.Shell.Env != "" {
		w.WriteString(". " + quote(c.file(envFile)) + " 2>/dev/null; ")
		w.WriteString("export " + markName + "=" + quote(mark) + "; ")
		w.WriteString("PWD=" + quote(s.Dir) + "; ")
	}
	w.WriteString("trap " + quote(leave(c, isBash)) + " EXIT; ")
	if isBash {
		w.WriteString(`eval "$BASH_EXECUTION_STRING"`)
	} else {
		w.WriteString(`eval "${BASH_EXECUTION_STRING%.}"`)
	}
	return w.String()
}

// leave is the exit trap. It is written for shells in any mode: traced, with
// errexit or noclobber, with functions named like builtins; and it does not
// touch the exit status.
func leave(c call, isBash bool) string {
	functions := ""
	if isBash {
		functions = "command export -fp; "
	}
	return "{ set +x; } 2>/dev/null; unset " + markName + " 2>/dev/null; { command pwd; command printf '\\0'; command export -p; " +
		functions + "command printf '\\0'; } 2>/dev/null >|" + quote(c.file(stateFile)) + " || :"
}

// quote makes one word of s for a shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// readState reads what the shell left; ok is false if it left nothing, or
// nothing that can be kept.
func readState(name string) (state Shell, ok bool) {
	// The command knows the file's name: what lies there may be no file at all.
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return Shell{}, false
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return Shell{}, false
	}
	b, err := io.ReadAll(io.LimitReader(f, maxState+1))
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
