package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hermes-batch/db"
)

// shown runs do while p is shown, and returns what came out.
func shown(t *testing.T, terminal bool, p *Progress, do func(*Live)) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	l := NewLive(out, terminal)
	fmt.Fprintln(l, "a line before")
	l.Show(p)
	do(l)
	l.Hide()
	l.Hide()
	fmt.Fprintln(l, "a line after")
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func someProgress(total int) *Progress {
	return &Progress{now: time.Now, started: time.Now(), judge: func(db.OutcomeHead) string { return "kept" },
		total: total, verdicts: map[string]int{}, flight: map[db.Ordinal]*flight{}}
}

// Where no terminal is there are few plain lines, however long a run takes.
func TestPlainProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const prompts = 100
		p := someProgress(prompts)
		text := shown(t, false, p, func(l *Live) {
			for i := range prompts {
				time.Sleep(100 * time.Second)
				ord := db.MakeOrdinal(i, 0)
				p.begin(ord)
				p.turn(ord, &db.Turn{Tries: 1, Usage: db.Usage{CompletionTokens: 7}})
				p.finish(ord, &db.Outcome{End: db.EndCompleted})
				p.leave(ord)
			}
		})
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if len(lines) < 5 || len(lines) > 60 {
			t.Errorf("%d lines:\n%s", len(lines), text)
		}
		if strings.ContainsAny(text, "\x1b\r\b") {
			t.Errorf("escapes in %q", text)
		}
		if lines[0] != "a line before" || lines[1] != "0/100 prompts" || lines[len(lines)-1] != "a line after" {
			t.Errorf("lines %q", lines)
		}
		if late := lines[len(lines)-2]; !strings.Contains(late, "/100 prompts  kept 9") || !strings.Contains(late, "tokens/s") || !strings.Contains(late, "ETA ") {
			t.Errorf("the last status is %q", late)
		}
	})
}

// On a terminal the region is redrawn, and lines of the log stay above it.
func TestLiveRegion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := someProgress(4)
		text := shown(t, true, p, func(l *Live) {
			for i := range 4 {
				ord := db.MakeOrdinal(i, 0)
				p.begin(ord)
				time.Sleep(2 * time.Second)
				fmt.Fprintf(l, "log line %d\n", i)
				p.finish(ord, &db.Outcome{End: db.EndCompleted})
				p.leave(ord)
			}
		})
		screen := strings.Split(render(text), "\n")
		want := []string{"a line before", "log line 0", "log line 1", "log line 2", "log line 3", "4/4 prompts", "a line after", ""}
		if fmt.Sprint(screen) != fmt.Sprint(want) {
			t.Errorf("the screen shows %q, want %q", screen, want)
		}
		if !strings.Contains(text, "in flight: #1 0 turns 2s") || !strings.Contains(text, "[#######.......................] 1/4 prompts") {
			t.Errorf("drawn was %q", text)
		}
	})
}

// render is a terminal that knows what the region uses: carriage return, lines
// up, and erasing what follows.
func render(text string) string {
	lines := []string{""}
	row := 0
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b[J"):
			lines, text = lines[:row+1], text[3:]
			lines[row] = ""
			continue
		case strings.HasPrefix(text, "\x1b["):
			up := 0
			fmt.Sscanf(text[2:], "%dA", &up)
			row, text = row-up, text[strings.IndexByte(text, 'A')+1:]
			continue
		case text[0] == '\n':
			row++
			if row == len(lines) {
				lines = append(lines, "")
			}
		case text[0] != '\r':
			lines[row] += text[:1]
		}
		text = text[1:]
	}
	return strings.Join(lines, "\n")
}

func TestStatus(t *testing.T) {
	for want, s := range map[string]Snapshot{
		"0/0 prompts":                            {},
		"3/5 prompts|kept 1|filtered 1|failed 1": {Total: 5, Done: 3, Verdicts: map[string]int{"kept": 1, "filtered": 1, "failed": 1}},
		"5/9 prompts|1.5 turns/s|30 tokens/s|$0.2500|2 retries|ETA 8s": {Total: 9, Done: 5, DoneNow: 5, Turns: 15, Retries: 2, Elapsed: 10 * time.Second,
			Usage: db.Usage{PromptTokens: 200, CompletionTokens: 100, Cost: 0.25, CostKnown: true}},
	} {
		if got := strings.Join(status(s), "|"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
