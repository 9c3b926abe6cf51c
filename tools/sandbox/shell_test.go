package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// scripts are run once by the shell itself and once in the wrapper.
var scripts = []string{
	"echo hi", "", "   ", "\n", "exit 7", "false", "echo a # c", "echo a\\\n", "echo a\\",
	"cat <<EOF\nfoo\n\n", "cat <<EOF\nfoo\nEOF", "cat <<EOF\nfoo\nEOF\n\n\n", "cat <<'A B'\n$x\nA B\n",
	"echo \"x", "echo 'x", "if", "echo )", "echo one\necho )\necho three", "{ echo a; ", "$(", "echo ${", "case x in",
	"set -e\nfalse\necho no", "set -eu; echo $nope; echo no", "set -e; (exit 4)", "false || false",
	"foo() { return 3; }; foo", "return 3", "break", "echo $# $LINENO; nosuch", "echo 1\nnosuch\necho $LINENO",
	"exec echo replaced", "trap 'echo mine' EXIT; echo x", "trap 'exit 9' EXIT", "kill -9 $$", "kill -TERM $$",
	"(exit 4); echo $?", "echo a | grep b", "#!/bin/sh\necho x", "echo a & wait", "exit 300", "exit foo",
	"echo $-", "set -f; echo *", "set -C; echo x >f; echo y >f", "exec 2>&1; nosuch", "exec >/dev/null; echo x",
	"pwd() { echo fake; }; printf() { echo fake; }; export() { echo fake; }; pwd", "unset PATH; nosuch", "PATH=; nosuch",
	"echo é\xff\xfe", "set -n; echo hi", "readonly R=1; R=2; echo on", "cd /nonexistent; echo $?", "IFS=x; echo $IFS",
	"eval 'exit 5'", ". /nonexistent; echo on", "ulimit -n 20; echo x", "wait; jobs; echo $!", "alias x=y; x",
	"echo \\\n  continued \\\n  twice", "for i in 1 2; do\n echo $i\ndone", "x=$(cat <<E\nin\nE\n); echo $x",
}

var bashScripts = []string{
	"echo $0 ${#BASH_EXECUTION_STRING}", "local x=1", "coproc cat; echo x", "caller; echo ${BASH_SOURCE[@]} ${FUNCNAME[@]}",
	"set -o pipefail; false | true", "shopt -s expand_aliases; alias ll='echo aliased'\nll", "f() { :; }; export -f f",
	"set -o posix; nosuch; echo on", "trap 'echo err' ERR; false; echo x", "[[ a == b ]]", "a=(1 2); echo ${a[1]}",
}

func TestWrapperChangesNothing(t *testing.T) {
	for name, shell := range shells() {
		t.Run(name, func(t *testing.T) {
			list := scripts
			if name == "bash" {
				list = append(list[:len(list):len(list)], bashScripts...)
			}
			for _, script := range list {
				plain, code := runShell(t, shell, t.TempDir(), script, nil)
				dir := t.TempDir()
				w := wrapper{bash: name == "bash", state: filepath.Join(t.TempDir(), "state")}
				wrapped, wrappedCode := runShell(t, shell, dir, w.text(), nil, script)
				if wrapped != plain || wrappedCode != code {
					t.Errorf("%q: wrapped %d %q, plain %d %q", script, wrappedCode, wrapped, code, plain)
				}
			}
		})
	}
}

// shells are those of this machine, sh only if it is none of the others.
func shells() map[string]string {
	found := map[string]string{}
	seen := map[string]bool{}
	for _, name := range []string{"bash", "dash", "sh"} {
		file, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		if err == nil && !seen[real] {
			seen[real] = true
			found[name] = file
		}
	}
	return found
}

// runShell runs a script with -c, files open from descriptor 3 on. The name by which a shell calls the place of
// an error is the one thing in which both ways differ.
func runShell(t *testing.T, shell, dir, script string, env []string, files ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(shell, "-c", script)
	cmd.Env = env
	cmd.Args[0] = filepath.Base(shell)
	cmd.Dir = dir
	for _, content := range files {
		f, err := memoryFile([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	out, _ := cmd.CombinedOutput()
	code := cmd.ProcessState.ExitCode()
	text := string(out)
	for _, place := range []string{" -c:", " eval:"} {
		text = strings.ReplaceAll(text, place, "")
	}
	return strings.ReplaceAll(text, dir, "DIR"), code
}

// State is left and brought back by every shell.
func TestWrapperState(t *testing.T) {
	for name, shell := range shells() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			state := filepath.Join(dir, "state")
			env := ""
			base := os.Environ()
			step := func(script, want string) {
				t.Helper()
				w := wrapper{bash: name == "bash", state: state, env: env != "", dir: dir, mark: "m"}
				if out, _ := runShell(t, shell, dir, w.text(), base, script, env); out != want {
					t.Errorf("%q prints %q, want %q", script, out, want)
				}
				left, ok := parseState([]byte(content(t, state)))
				if !ok || strings.Contains(left.Env, MarkName) {
					t.Fatalf("state %q", content(t, state))
				}
				env, base = left.Env, []string{}
			}
			value := `a 'b' "c" $d \e` + "\n`f`\n"
			step("export V="+quote(value)+"; unset HOME", "")
			step(`printf %s "$V${HOME-}"`, value)
			step("set -eux; unset V; (exit 3)", tracedBy(name))
			step(`echo "${V-unset}"`, "unset\n")
			if name == "bash" {
				step("f() { echo from f; }; export -f f", "")
				step("f; bash -c f", "from f\nfrom f\n")
			}
		})
	}
}

// tracedBy is what a shell prints of the script under set -x: of the script,
// and nothing of the wrapper.
func tracedBy(shell string) string {
	if shell == "bash" {
		return "++ unset V\n++ exit 3\n"
	}
	return "+ unset V\n+ exit 3\n"
}

func TestParseState(t *testing.T) {
	for text, want := range map[string]bool{
		"/a\n\x00export A=1\n\x00":        true,
		"/a\nb\n\x00x\x00":                true,
		"/a\n\x00export A=1\n":            false, // cut off
		"/a\n\x00":                        false,
		"":                                false,
		"\x00x\x00":                       false,
		"relative\n\x00x\x00":             false,
		"/a\n\x00x\x00y":                  false,
		"/a\n\x00\xff\x00":                false,
		"/a\n\x00\x00":                    false,
		"/a\n\x00x\x00" + "/a\n\x00x\x00": false,
	} {
		if _, ok := parseState([]byte(text)); ok != want {
			t.Errorf("%q: %v, want %v", text, ok, want)
		}
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte("/a\n\x00export A=1\n\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, ok := parseState(b)
		if ok && (s.Env == "" || !filepath.IsAbs(s.Cwd) || !utf8.ValidString(s.Cwd+s.Env) || strings.ContainsRune(s.Cwd+s.Env, 0)) {
			t.Errorf("%q gives %+v", b, s)
		}
	})
}

// A state that is too large to be kept leaves the old one.
func TestStateTooLarge(t *testing.T) {
	l := open(t, LocalOptions{})
	first := mustRun(t, l, "0", "mkdir d; cd d")
	r, err := l.Exec(t.Context(), Command{Key: "1", Shell: first.Shell, Script: `export A=$(head -c 100000 /dev/zero | tr '\0' x) ; for i in 1 2 3 4 5 6 7 8 9 10 11; do export A$i=$A; done; cd ..`})
	if err != nil || r.ExitCode != 0 || r.Shell != first.Shell {
		t.Errorf("code %d, cwd %q, %d bytes of state, %v", r.ExitCode, r.Shell.Cwd, len(r.Shell.Env), err)
	}
}

// Commands must not be able to hold up a call by what they do to its files.
func TestStateIsNoFile(t *testing.T) {
	l := open(t, LocalOptions{})
	r := mustRun(t, l, "0", "rm -f ../calls/0; mkfifo ../calls/0; echo done; exit "+strconv.Itoa(3))
	if string(r.Output) != "done\n" || r.ExitCode != 3 {
		t.Errorf("%+v", r)
	}
	if err := os.Remove(filepath.Join(l.base, "calls", "0")); err != nil {
		t.Error(err)
	}
}
