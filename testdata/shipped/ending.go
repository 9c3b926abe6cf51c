package shipped

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// Ending is how a call of the program ended.
type Ending struct {
	Code int            // exit code, -1 after a signal
	By   syscall.Signal // that ended it, or 0
	Text string         // what it printed
}

// String has the last lines of what the program printed.
func (e Ending) String() string {
	how := fmt.Sprintf("exit code %d", e.Code)
	if e.By != 0 {
		how = e.By.String()
	}
	lines := strings.Split(strings.TrimSpace(e.Text), "\n")
	return how + "\n" + strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// alarm is a line of a crash, or one that goes past the program's own log.
var alarm = regexp.MustCompile(`(?m)^.*(panic|goroutine \d+|fatal error|runtime error|runtime: |SIGSEGV|SIGQUIT).*$|^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d .*$`)

// Wrong tells what is wrong with the end of a program that was not killed: it
// has one of the exit codes, no alarm, and a word about it where it stopped
// early.
func (e Ending) Wrong(codes ...int) (wrong []string) {
	if !slices.Contains(codes, e.Code) {
		wrong = append(wrong, fmt.Sprintf("ended with %v, expected one of %v", e, codes))
	}
	if line := e.Alarm(); line != "" {
		wrong = append(wrong, fmt.Sprintf("said %q: %v", line, e))
	}
	if (e.Code == 2 || e.Code == 3) && !strings.Contains(e.Text, "hermes-batch: ") {
		wrong = append(wrong, fmt.Sprintf("did not say why it stopped: %v", e))
	}
	return wrong
}

// Alarm is the first line of a crash, or one that goes past the program's log; ""
// if there is none.
func (e Ending) Alarm() string { return alarm.FindString(e.Text) }
