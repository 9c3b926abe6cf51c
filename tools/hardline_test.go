package tools

import (
	"strings"
	"testing"
	"time"
)

func TestHardlineBlocks(t *testing.T) {
	for _, script := range []string{
		"rm -rf /", "rm -fr /", "rm -r /*", "rm -rf --no-preserve-root /", "rm -Rf //", "rm --recursive --force /",
		"rm -rf /etc", "rm -rf /usr/", "rm -rf /home/*", "rm -rf '/var'", `rm -rf "/usr/../etc"`, "rm -r -f /boot",
		"rm -rf ~", "rm -rf ~/", "rm -rf ~/*", "rm -rf $HOME", `rm -rf "$HOME"`, `rm -rf "${HOME}/"`, "rm -rf /.",
		"sudo rm -rf /", "sudo -u root -- rm -rf /", "/bin/rm -rf /", `\rm -rf /`, "env A=b rm -rf /", "nohup rm -rf / &",
		"cd /tmp && rm -rf /", "true; rm -rf /; echo", "(rm -rf /)", "if true; then rm -rf /; fi", "echo $(rm -rf /)",
		"f() { rm -rf /; }; f", "rm -rf x /", "ls | xargs rm -rf /", "timeout 5 rm -rf /", "nice -n 5 rm -rf /",
		"bash -c 'rm -rf /'", `sh -ec "rm -rf /"`, `bash -c "bash -c 'rm -rf /'"`, "eval rm -rf /", "eval 'rm -rf /'",
		"rm -rf /\nif broken", "find / -delete", "find /etc -name x -delete",
		"mkfs /dev/sda1", "mkfs.ext4 -F /dev/sdb", "sudo mkfs.xfs /dev/vda",
		"dd if=/dev/zero of=/dev/sda bs=1M", "cat x > /dev/sda", "echo x >> /dev/nvme0n1", "tee /dev/sdb < x", "shred /dev/sda",
		":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb", "function f { f & f; }; f",
		"kill -1", "kill -9 -1", "kill -KILL -1", "kill -s KILL -- -1",
		"shutdown -h now", "reboot", "sudo reboot", "/sbin/halt", "poweroff", "init 0", "telinit 6", "systemctl reboot", "systemctl --force poweroff",
	} {
		if hardline(script) == "" {
			t.Errorf("%q is let through", script)
		}
	}
}

func TestHardlineLetsThrough(t *testing.T) {
	for _, script := range []string{
		"", "ls /", "rm file", "rm -rf build", "rm -rf ./*", "rm -rf *", "rm /etc", "rm -rf /tmp/x", "rm -rf /usr/local/lib/x",
		"rm -rf ~/project", "rm -rf $HOME/project", "rm -rf $DIR", `rm -rf "$DIR"/*`, "rm -rf /home/me/x",
		"echo 'rm -rf /'", `echo "rm -rf /"`, "grep -r 'rm -rf /' .", "cat <<'X' > clean.sh\nrm -rf /\nX", "# rm -rf /",
		"git commit -m 'rm -rf /'", "python -c 'print(\"rm -rf /\")'", "find . -delete", "find / -name x",
		"dd if=/dev/zero of=disk.img", "dd if=/dev/sda of=x", "echo x > /dev/null", "echo x > /dev/stderr", "cat /dev/sda", "echo x > sda",
		"kill -1 1234", "kill -9 1234", "kill %1", "kill -HUP $PID", "kill -- -1234", "pkill x",
		"f() { f; }", "f() { g & g; }; f", "loop() { sleep 1 & }", "echo reboot", "man shutdown", "command -v reboot", "which halt",
		"systemctl status x", "npm init", "git init 0", "./reboot", "init", "bash script.sh", "bash -c 'echo rm -rf /'", "((", "$(", "'",
	} {
		if danger := hardline(script); danger != "" {
			t.Errorf("%q is blocked: %s", script, danger)
		}
	}
}

// No script takes the parser long, or more stack than there is.
func TestHardlineIsQuick(t *testing.T) {
	for _, piece := range []string{
		"(", "$(", "{ ", "`", "((", "$((", "${a:-", "if ", "while ", "! ", "[[ ! ", "[[ ( ", "a|", "a&&", "a;", "'", "\"$(", "<(", "((-", "((~",
		"f(){ ", "case x in x) ", "eval ", "bash -c ", "<<X\n", "a[", "a=(", "\\\n", "ls ", "time ", "coproc ",
	} {
		start := time.Now()
		hardline(strings.Repeat(piece, 1_000_000/len(piece)))
		exitMeaning(strings.Repeat(piece, 1_000_000/len(piece)), 1)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q took %v", piece, took)
		}
	}
}

func FuzzHardline(f *testing.F) {
	for _, seed := range []string{"rm -rf /", ":(){ :|:& };:", "sudo -u", "env -S 'x", "bash -c", "timeout 5", "a <<X\n$(b)\nX", "[[ a =~ ( ]]", "${a[$(b)]}"} {
		f.Add(seed, 1)
	}
	f.Fuzz(func(t *testing.T, script string, code int) {
		hardline(script)
		exitMeaning(script, code)
	})
}
