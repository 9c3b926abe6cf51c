package export

import (
	"flag"
	"fmt"

	"hermes-batch/db"
)

// Verdict says which files a prompt's row belongs to. The zero value is
// Pending. A verdict is never stored: it follows from recorded facts and the
// filters of the moment.
type Verdict uint8

const (
	Pending   Verdict = iota // no outcome yet
	Kept                     // in the batch file and the merged file
	Filtered                 // in the batch file only: it called a tool that does not exist
	Discarded                // in no file: no turn had reasoning
	Failed                   // in errors.jsonl
	verdicts                 // how many there are
)

var verdictNames = [verdicts]string{"pending", "kept", "filtered", "discarded", "failed"}

// String is the verdict's name as files and summaries have it.
func (v Verdict) String() string {
	if v >= verdicts {
		return fmt.Sprintf("verdict(%d)", uint8(v))
	}
	return verdictNames[v]
}

// Finished tells an outcome that stands: everything but failed and pending.
func (v Verdict) Finished() bool { return v == Kept || v == Filtered || v == Discarded }

// Filters are the quality filters that a user can switch off. The zero value
// applies them all.
type Filters struct {
	KeepWithoutReasoning bool
	KeepInvalidTools     bool
}

// filtersOf are the filters that a launch ran under.
func filtersOf(l db.Launch) Filters {
	if l.Flags["output"] != "" {
		return keepAll()
	}
	return Filters{
		KeepWithoutReasoning: l.Flags[flagReasoning] == "true",
		KeepInvalidTools:     l.Flags[flagInvalid] == "true",
	}
}

// keepAll are the filters of the short form, which drop nothing.
func keepAll() Filters { return Filters{KeepWithoutReasoning: true, KeepInvalidTools: true} }

const (
	flagReasoning = "keep_without_reasoning"
	flagInvalid   = "keep_invalid_tools"

	aboutReasoning = "keep prompts in which no turn had reasoning"
	aboutInvalid   = "keep prompts that called a tool that does not exist in the merged file too"
)

// Register puts the flags of the filters on fs.
func (f *Filters) Register(fs *flag.FlagSet) {
	fs.BoolVar(&f.KeepWithoutReasoning, flagReasoning, f.KeepWithoutReasoning, aboutReasoning)
	fs.BoolVar(&f.KeepInvalidTools, flagInvalid, f.KeepInvalidTools, aboutInvalid)
}

// Judge gives the verdict on a recorded outcome; the zero head, of a prompt
// without one, is pending. A row that both filters would drop is discarded.
func Judge(head db.OutcomeHead, f Filters) Verdict {
	switch {
	case head.End == "":
		return Pending
	case head.End == db.EndFailed:
		return Failed
	case head.ReasonedTurns == 0 && !f.KeepWithoutReasoning:
		return Discarded
	case head.InvalidCalls > 0 && !f.KeepInvalidTools:
		return Filtered
	}
	return Kept
}
