package export

import (
	"fmt"
	"io"
	"strings"
	"time"

	"hermes-batch/db"
)

// StatusIntro is for the help of a verb that shows a Status.
const StatusIntro = `Shows the state of a run: counts, and what it is doing now if it goes on.

Usage:
  hermes-batch status --run_name=NAME | --store=FILE
`

// Status tells the state of a run: who works on it or how the last session
// ended, the counts, and how to go on. The counts are those of the last
// session's filters; what f keeps is kept too. live are lines that only a run
// in progress knows; nil means that nobody works on it.
func Status(w io.Writer, store *db.Store, f Filters, live []string) error {
	launches, err := store.Launches()
	if err != nil {
		return err
	}
	var last db.Launch
	if len(launches) > 0 {
		last = launches[len(launches)-1]
		had := filtersOf(last)
		f.KeepWithoutReasoning = f.KeepWithoutReasoning || had.KeepWithoutReasoning
		f.KeepInvalidTools = f.KeepInvalidTools || had.KeepInvalidTools
	}
	c, err := Progress(store, f)
	if err != nil {
		return err
	}
	run := store.Run()
	fmt.Fprintf(w, "run       %s, created %s\n", run.Name, stamp(run.Created))
	fmt.Fprintf(w, "state     %s\n", state(last.End, c, live != nil))
	fmt.Fprintf(w, "prompts   %d = %d kept + %d filtered + %d discarded + %d failed + %d pending\n",
		c.Total, c.Kept, c.Filtered, c.Discarded, c.Failed, c.Pending)
	fmt.Fprintf(w, "finished  %d completed, %d incomplete, %d partial\n", c.Completed, c.Incomplete, c.Partial)
	if c.Failed > 0 {
		fmt.Fprintf(w, "failed    %d, listed in errors.jsonl; %s\n", c.Failed, triedAgain(last.Flags["retry_failed"]))
	}
	if len(launches) > 0 {
		fmt.Fprintf(w, "sessions  %d, the last by process %d on %s %s\n", len(launches), last.PID, last.Host, period(last))
	}
	for _, line := range live {
		fmt.Fprintf(w, "now       %s\n", line)
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// period is when a session was, as far as it is known.
func period(l db.Launch) string {
	if l.Ended.IsZero() {
		return "since " + stamp(l.Started)
	}
	return "from " + stamp(l.Started) + " to " + stamp(l.Ended)
}

// state is one word and what follows from it. end is that of the last session.
func state(end string, c Counts, running bool) string {
	rest := "; --resume goes on with the " + plural(c.Pending, "pending prompt", "pending prompts")
	switch {
	case running:
		return "running"
	case c.Pending+c.Failed == 0:
		return "complete"
	case c.Pending == 0:
		return "finished with " + plural(c.Failed, "failed prompt", "failed prompts")
	case end == "":
		return "crashed: the last session did not end by itself" + rest
	}
	return strings.TrimPrefix(end, "stopped: ") + rest
}
