package engine

import (
	"maps"
	"slices"
	"time"

	"hermes-batch/db"
)

// facts are what a session's steps say about it. They are made by add alone,
// so that a resumed session has the facts of an uninterrupted one.
type facts struct {
	assistant, reasoned int
	tools               map[string]db.ToolStat
	invalid             map[string]bool // names that do not exist
	usage, spent        db.Usage
	attempts, reruns    int
	repairs, replayed   int
	turnTries           int // requests that led to turns
	failedTries         int // requests of calls that were given up
	isolation           string
	sharedCwd           bool
	imageDigest         string
	modelTime, toolTime time.Duration
	active              span
}

// span adds up the time that a session was worked on: from the first to the
// last step of each session of the program.
type span struct {
	launch      int
	first, last time.Time
	before      time.Duration // in earlier launches
}

func (s *span) add(launch int, at time.Time) {
	if launch != s.launch || s.first.IsZero() {
		s.before, s.launch, s.first = s.total(), launch, at
	}
	s.last = at
}

// total is never less for a clock that was set back.
func (s *span) total() time.Duration { return s.before + max(0, s.last.Sub(s.first)) }

func newFacts() facts {
	return facts{tools: map[string]db.ToolStat{}, invalid: map[string]bool{}, isolation: isolationNone}
}

func (f *facts) add(rec db.Record) {
	f.spent = f.spent.Add(db.SpentOn(rec))
	switch r := rec.(type) {
	case *db.Attempt:
		f.active.add(r.Launch, r.At)
		f.attempts++
		f.failedTries += r.Tries
	case *db.Sandbox:
		f.isolation, f.sharedCwd, f.imageDigest = r.Isolation, r.SharedCwd, r.ImageDigest
	case *db.Turn:
		f.addTurn(r)
	case *db.Rejected:
		f.active.add(r.Launch, r.At)
		f.modelTime += r.Took
		if r.Why == whyContinued { // a part of the turn that follows
			f.usage = f.usage.Add(r.Usage)
			f.turnTries += r.Tries
		}
	case *db.Result:
		f.addResult(r)
	case *db.Rerun:
		f.active.add(r.Launch, r.At)
		f.reruns++
	case *db.Retry:
		f.active.add(r.Launch, r.At)
		f.failedTries = r.Tries
	}
}

func (f *facts) addTurn(t *db.Turn) {
	f.active.add(t.Launch, t.At)
	f.assistant++
	if t.Entry.Reasoning != "" || t.Usage.ReasoningTokens > 0 {
		f.reasoned++
	}
	f.usage = f.usage.Add(t.Usage)
	f.repairs += t.Repairs
	f.turnTries += t.Tries
	f.modelTime += t.Took
	if t.Replayed {
		f.replayed++
	}
}

func (f *facts) addResult(r *db.Result) {
	f.active.add(r.Launch, r.At)
	name := r.Name
	if r.Status == statusInvalidTool {
		f.invalid[name] = true
		name = db.InvalidTool
	}
	stat := f.tools[name]
	stat.Count++
	if r.Success {
		stat.Success++
	} else {
		stat.Failure++
	}
	f.tools[name] = stat
	f.toolTime += r.Took
}

// tries are the requests sent so far.
func (f *facts) tries() int { return f.turnTries + f.failedTries }

func (f *facts) outcome(e end, launch int, now time.Time) *db.Outcome {
	f.active.add(launch, now)
	return &db.Outcome{
		End: e.end, Reason: e.reason, Class: e.class, Message: e.message, At: now, Launch: launch,
		AssistantTurns: f.assistant, ReasonedTurns: f.reasoned, APICalls: f.assistant,
		InvalidTools: slices.Sorted(maps.Keys(f.invalid)), ToolStats: f.tools,
		Usage: f.usage, Spent: f.spent,
		Attempts: f.attempts, ToolReruns: f.reruns, Repairs: f.repairs, Replayed: f.replayed,
		Tries: f.tries(), Isolation: f.isolation, SharedCwd: f.sharedCwd, ImageDigest: f.imageDigest,
		Wall: f.active.total(), ModelTime: f.modelTime, ToolTime: f.toolTime,
	}
}
