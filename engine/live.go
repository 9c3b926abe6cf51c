package engine

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	liveRedraw = 500 * time.Millisecond
	livePrompt = 6 // prompts in flight that are shown
	liveBar    = 30
	// plainPause is the time between two lines where no terminal is; it grows
	// with the run's length, so that a log holds some dozens of lines.
	plainPause = 10 * time.Second
	plainMost  = 5 * time.Minute
)

// Live shows a run's progress on stderr: a region that is redrawn on a
// terminal, rare plain lines elsewhere. As an io.Writer it takes the log's
// lines and puts them above the region, without control characters. Safe for concurrent use.
type Live struct {
	out      *os.File
	terminal bool

	mu      sync.Mutex
	region  []string // lines on the screen
	stop    chan struct{}
	stopped chan struct{}
}

// NewLive writes to out.
func NewLive(out *os.File, terminal bool) *Live { return &Live{out: out, terminal: terminal} }

// Write puts a line of the log above the region.
func (l *Live) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := []byte(Plain(string(line)))
	if l.region == nil {
		_, err := l.out.Write(text)
		return len(line), err
	}
	return len(line), l.redraw(text, l.region)
}

// redraw replaces the region by text that stays and lines that do not.
func (l *Live) redraw(stays []byte, lines []string) error {
	var out bytes.Buffer
	out.WriteByte('\r')
	if up := len(l.region) - 1; up > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", up)
	}
	out.WriteString("\x1b[J")
	out.Write(stays)
	out.WriteString(strings.Join(lines, "\n"))
	l.region = lines
	_, err := l.out.Write(out.Bytes())
	return err
}

// Show begins to show p until Hide.
func (l *Live) Show(p *Progress) {
	l.stop, l.stopped = make(chan struct{}), make(chan struct{})
	if l.terminal {
		go l.draw(p)
		return
	}
	go l.tell(p)
}

// Hide ends the display. Safe when nothing is shown.
func (l *Live) Hide() {
	if l.stop == nil {
		return
	}
	close(l.stop)
	<-l.stopped
	l.stop = nil
}

// tell writes plain lines, ever more rarely.
func (l *Live) tell(p *Progress) {
	defer close(l.stopped)
	for pause := plainPause; ; pause = min(pause*5/4, plainMost) {
		fmt.Fprintln(l, strings.Join(status(p.Snapshot()), "  "))
		select {
		case <-l.stop:
			return
		case <-time.After(pause):
		}
	}
}

// draw keeps the region up to date.
func (l *Live) draw(p *Progress) {
	defer close(l.stopped)
	for {
		l.show(p.Snapshot(), nil)
		select {
		case <-l.stop:
			l.show(p.Snapshot(), []byte(status(p.Snapshot())[0]+"\n"))
			return
		case <-time.After(liveRedraw):
		}
	}
}

// show draws the region of a snapshot, or ends it with a last line that stays.
func (l *Live) show(s Snapshot, last []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last != nil {
		l.redraw(last, nil)
		return
	}
	width, _, err := term.GetSize(int(l.out.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	words := status(s)
	lines := []string{bar(s) + " " + words[0], strings.Join(words[1:], "  "), inFlight(s)}
	for i, line := range lines {
		lines[i] = line[:min(len(line), width-1)]
	}
	l.redraw(nil, lines)
}

// bar is the share of the prompts that are done, in ASCII.
func bar(s Snapshot) string {
	full := 0
	if s.Total > 0 {
		full = liveBar * s.Done / s.Total
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", liveBar-full) + "]"
}

// status is one snapshot in words, the count first.
func status(s Snapshot) []string {
	parts := []string{fmt.Sprintf("%d/%d prompts", s.Done, s.Total)}
	for _, verdict := range []string{"kept", "filtered", "discarded", "failed"} {
		if n := s.Verdicts[verdict]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", verdict, n))
		}
	}
	if seconds := s.Elapsed.Seconds(); seconds > 0 && s.Turns > 0 {
		tokens := s.Usage.PromptTokens + s.Usage.CompletionTokens
		parts = append(parts, fmt.Sprintf("%.1f turns/s", float64(s.Turns)/seconds), fmt.Sprintf("%.0f tokens/s", float64(tokens)/seconds))
	}
	if s.Usage.CostKnown && s.Usage.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", s.Usage.Cost))
	}
	if s.Retries > 0 {
		parts = append(parts, fmt.Sprintf("%d retries", s.Retries))
	}
	if eta, ok := s.eta(); ok {
		parts = append(parts, "ETA "+eta.String())
	}
	return parts
}

// eta is the time that the rest takes at this session's pace; false when
// nothing is known yet or nothing is left.
func (s Snapshot) eta() (time.Duration, bool) {
	left := s.Total - s.Done
	if s.DoneNow == 0 || left <= 0 {
		return 0, false
	}
	perPrompt := s.Elapsed / time.Duration(s.DoneNow)
	return (time.Duration(left) * perPrompt).Round(time.Second), true
}

// Lines say the snapshot in words.
func (s Snapshot) Lines() []string {
	return []string{strings.Join(status(s), "  "), inFlight(s)}
}

func inFlight(s Snapshot) string {
	if len(s.InFlight) == 0 {
		return "nothing in flight"
	}
	var parts []string
	for _, f := range s.InFlight[:min(livePrompt, len(s.InFlight))] {
		parts = append(parts, fmt.Sprintf("#%d %d turns %s", f.Index, f.Turns, f.For.Round(time.Second)))
	}
	if more := len(s.InFlight) - livePrompt; more > 0 {
		parts = append(parts, fmt.Sprintf("+%d", more))
	}
	return "in flight: " + strings.Join(parts, ", ")
}
