package engine

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
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
// lines and puts them above the region.
type Live struct {
	out      io.Writer
	terminal bool
	color    bool

	mu      sync.Mutex
	region  progress.Writer // nil: not drawing
	tracker *progress.Tracker
	stop    chan struct{}
	stopped chan struct{}
}

// NewLive writes to out. color is only used on a terminal.
func NewLive(out io.Writer, terminal, color bool) *Live {
	return &Live{out: out, terminal: terminal, color: color}
}

// Write puts a line of the log above the region.
func (l *Live) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.region != nil {
		l.region.Log("%s", strings.TrimRight(string(line), "\n"))
		return len(line), nil
	}
	return l.out.Write(line)
}

// Show begins to show p until Hide.
func (l *Live) Show(p *Progress) {
	l.stop, l.stopped = make(chan struct{}), make(chan struct{})
	if l.terminal {
		l.draw(p)
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
	w := progress.NewWriter()
	w.SetOutputWriter(l.out)
	w.SetUpdateFrequency(liveRedraw)
	w.SetTrackerLength(liveBar)
	w.SetStyle(progress.StyleDefault)
	if l.color {
		w.Style().Colors = progress.StyleColorsExample
	}
	w.Style().Visibility = progress.StyleVisibility{Tracker: true, Percentage: true, Value: true, Pinned: true}
	s := p.Snapshot()
	l.tracker = &progress.Tracker{Message: "prompts", Total: int64(s.Total)}
	w.AppendTracker(l.tracker)
	l.refresh(w, s)
	l.mu.Lock()
	l.region = w
	l.mu.Unlock()
	rendered := make(chan struct{})
	go func() {
		defer close(rendered)
		w.Render()
	}()
	go func() {
		defer close(l.stopped)
		for {
			select {
			case <-l.stop:
				l.refresh(w, p.Snapshot())
				w.Stop()
				<-rendered
				l.mu.Lock()
				l.region = nil
				l.mu.Unlock()
				return
			case <-time.After(liveRedraw):
				l.refresh(w, p.Snapshot())
			}
		}
	}()
}

func (l *Live) refresh(w progress.Writer, s Snapshot) {
	l.tracker.SetValue(int64(s.Done))
	w.SetPinnedMessages(strings.Join(status(s)[1:], "  "), inFlight(s))
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
	if eta, ok := s.ETA(); ok {
		parts = append(parts, "ETA "+eta.String())
	}
	return parts
}

// ETA is the time that the rest takes at this session's pace; false when
// nothing is known yet or nothing is left.
func (s Snapshot) ETA() (time.Duration, bool) {
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
