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
	if len(launches) > 0 {
		last := filtersOf(launches[len(launches)-1])
		f.KeepWithoutReasoning = f.KeepWithoutReasoning || last.KeepWithoutReasoning
		f.KeepInvalidTools = f.KeepInvalidTools || last.KeepInvalidTools
	}
	c, err := Progress(store, f)
	if err != nil {
		return err
	}
	run := store.Run()
	fmt.Fprintf(w, "run       %s, created %s\n", run.Name, stamp(run.Created))
	fmt.Fprintf(w, "state     %s\n", state(launches, c, live != nil))
	fmt.Fprintf(w, "prompts   %d = %d kept + %d filtered + %d discarded + %d failed + %d pending\n",
		c.Total, c.Kept, c.Filtered, c.Discarded, c.Failed, c.Pending)
	fmt.Fprintf(w, "finished  %d completed, %d incomplete, %d partial\n", c.Completed, c.Incomplete, c.Partial)
	if len(launches) > 0 {
		last := launches[len(launches)-1]
		fmt.Fprintf(w, "sessions  %d, the last by process %d on %s since %s\n", len(launches), last.PID, last.Host, stamp(last.Started))
	}
	for _, line := range live {
		fmt.Fprintf(w, "now       %s\n", line)
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// state is one word and what follows from it.
func state(launches []db.Launch, c Counts, running bool) string {
	if running {
		return "running"
	}
	open := c.Pending + c.Failed
	rest := fmt.Sprintf("; --resume goes on with the %d open prompts", open)
	switch end := lastEnd(launches); {
	case open == 0:
		return "complete"
	case c.Pending == 0:
		return fmt.Sprintf("finished with %d failed prompts; --resume tries them again", c.Failed)
	case end == "":
		return "crashed: the last session did not end by itself" + rest
	default:
		return strings.TrimPrefix(end, "stopped: ") + rest
	}
}

func lastEnd(launches []db.Launch) string {
	if len(launches) == 0 {
		return ""
	}
	return launches[len(launches)-1].End
}
