package export

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"hermes-batch/db"
)

// Statistics describe a run over all its launches, in the layout of
// statistics.json: the reference program's keys first. An interrupted and
// resumed run has the figures of an uninterrupted one, apart from times.
type Statistics struct {
	RunName      string  `json:"run_name"`
	Distribution string  `json:"distribution"` // of the last launch, as are batch size and model
	TotalPrompts int     `json:"total_prompts"`
	TotalBatches int     `json:"total_batches"`
	BatchSize    int     `json:"batch_size"`
	Model        string  `json:"model"`
	CompletedAt  string  `json:"completed_at"` // of the last outcome
	Duration     Decimal `json:"duration_seconds"`

	// Tools and Reasoning are of the finished prompts. Tools has the used ones.
	Tools     map[string]ToolRates `json:"tool_statistics"`
	Reasoning ReasoningShare       `json:"reasoning_statistics"`

	// Finished tells that no prompt of the plan is pending.
	Finished bool `json:"run_finished"`
	Counts
	BadLines int `json:"bad_lines"`

	Ends     map[string]map[string]int `json:"ends"`     // finished prompts by end and reason
	Failures map[string]map[string]int `json:"failures"` // failed prompts by class and reason

	// InvalidTools counts the finished prompts that called each name.
	InvalidTools map[string]int `json:"invalid_tools"`
	Usage        UsageShare     `json:"usage"`
	Durations    Durations      `json:"durations"`

	// RetryFailed says which failed prompts a resume tries again, in the words
	// of that flag; "" means all. It is in no file.
	RetryFailed string `json:"-"`
}

// ToolRates are the calls of one tool. Rates are percentages.
type ToolRates struct {
	Count       int     `json:"count"`
	Success     int     `json:"success"`
	Failure     int     `json:"failure"`
	SuccessRate Decimal `json:"success_rate"`
	FailureRate Decimal `json:"failure_rate"`
}

// ReasoningShare says in how many model turns there was reasoning. Rates are
// percentages.
type ReasoningShare struct {
	Turns       int     `json:"total_assistant_turns"`
	With        int     `json:"turns_with_reasoning"`
	Without     int     `json:"turns_without_reasoning"`
	WithRate    Decimal `json:"with_reasoning_rate"`
	WithoutRate Decimal `json:"without_reasoning_rate"`
}

// UsageShare is what the kept rows consumed, and everything that was paid for:
// failed and unfinished sessions, rejected replies and attempts that were given
// up are in it.
type UsageShare struct {
	Kept  Usage `json:"kept"`
	Spent Usage `json:"spent"`
}

// Usage is a sum of tokens and of cost in US dollars. CostKnown says that the
// cost of every part of it was reported.
type Usage struct {
	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	ReasoningTokens  int64   `json:"reasoning_tokens"`
	CachedTokens     int64   `json:"cached_tokens"`
	Cost             Decimal `json:"cost"`
	CostKnown        bool    `json:"cost_known"`
}

// Durations are sums over all sessions that have an outcome, in seconds, and
// the number of launches of the program in which one of these outcomes came.
type Durations struct {
	Wall     Decimal `json:"wall_seconds"`
	Model    Decimal `json:"model_seconds"`
	Tools    Decimal `json:"tool_seconds"`
	Launches int     `json:"launches"`
}

// statistics renders statistics.json from a collection.
func (r *Renderer) statistics(rep *Report, c *collector) error {
	if err := c.report(rep); err != nil {
		return err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rep.Statistics); err != nil {
		return err
	}
	f := r.begin(r.path("statistics.json"))
	defer f.abort()
	if _, err := f.Write(out.Bytes()); err != nil {
		return err
	}
	return r.finish(rep, f, nil)
}

// report finishes a collection and puts it into a report.
func (c *collector) report(rep *Report) error {
	stats, err := c.finish()
	if err == nil {
		rep.Statistics, rep.Counts = stats, stats.Counts
	}
	return err
}

// collector adds outcomes up, which come in their order.
type collector struct {
	store *db.Store
	plan  planned

	stats             Statistics
	tools             map[string]db.ToolStat
	kept, spent       db.Usage
	wall, model, tool time.Duration
	pending           int
	next              db.Ordinal // place after the outcomes that were added
	latest            time.Time
	launches          map[int]time.Time // launch → its last outcome
}

func newCollector(r *Renderer) *collector {
	return &collector{
		store: r.store, plan: r.ledger.plan, pending: r.ledger.plan.count,
		stats: Statistics{
			TotalBatches: len(r.ledger.batches), Tools: map[string]ToolRates{}, InvalidTools: map[string]int{},
			Ends:     map[string]map[string]int{db.EndCompleted: {}, db.EndIncomplete: {}, db.EndPartial: {}},
			Failures: map[string]map[string]int{db.ClassTransient: {}, db.ClassPermanent: {}},
		},
		tools: map[string]db.ToolStat{}, launches: map[int]time.Time{},
	}
}

func (c *collector) add(o db.Ordinal, out *db.Outcome, v Verdict) error {
	if c.plan.answers(o) {
		c.pending--
	}
	if err := c.addSpent(o, out); err != nil {
		return err
	}
	c.wall, c.model, c.tool = c.wall+out.Wall, c.model+out.ModelTime, c.tool+out.ToolTime
	c.addTime(out)
	if !c.plan.counts(o, v) {
		return nil
	}
	c.stats.Counts.add(v, out.End, 1)
	switch {
	case v == Failed:
		count(c.stats.Failures, out.Class, out.Reason)
	default:
		c.addFinished(out)
	}
	if v == Kept {
		c.kept = c.kept.Add(out.Usage)
	}
	return nil
}

// addSpent adds what was paid for in a session, and in those before it that have
// no outcome.
func (c *collector) addSpent(o db.Ordinal, out *db.Outcome) error {
	if o > c.next {
		if err := c.addOpen(o); err != nil {
			return err
		}
	}
	c.next = db.MakeOrdinal(o.Index()+1, 0)
	spent := out.Spent
	if out.End != db.EndCompleted { // it may be on its way to another outcome
		going, err := c.store.WentOn(o, *out)
		if err == nil && going {
			spent, err = c.store.Spent(o)
		}
		if err != nil {
			return err
		}
	}
	c.spent = c.spent.Add(spent)
	return nil
}

// addOpen adds what was paid for in sessions before a place that have begun and
// have no outcome.
func (c *collector) addOpen(before db.Ordinal) error {
	for from := c.next; ; from++ {
		o, ok, err := c.store.NextSession(from)
		if err != nil || !ok || o >= before {
			return err
		}
		spent, err := c.store.Spent(o)
		if err != nil {
			return err
		}
		c.spent, from = c.spent.Add(spent), o
	}
}

func (c *collector) addTime(out *db.Outcome) {
	if out.At.After(c.latest) {
		c.latest = out.At
	}
	if out.At.After(c.launches[out.Launch]) {
		c.launches[out.Launch] = out.At
	}
}

func (c *collector) addFinished(out *db.Outcome) {
	count(c.stats.Ends, out.End, out.Reason)
	c.stats.Reasoning.Turns += out.AssistantTurns
	c.stats.Reasoning.With += out.ReasonedTurns
	for name, st := range out.ToolStats {
		c.tools[name] = sum(c.tools[name], st)
	}
	for _, name := range out.InvalidTools {
		c.stats.InvalidTools[name]++
	}
}

func count(in map[string]map[string]int, first, second string) {
	if in[first] == nil {
		in[first] = map[string]int{}
	}
	in[first][second]++
}

// finish computes what follows from the sums.
func (c *collector) finish() (*Statistics, error) {
	if err := c.addOpen(math.MaxUint64); err != nil {
		return nil, err
	}
	s := &c.stats
	run := c.store.Run()
	s.Counts.add(Pending, "", c.pending)
	s.RunName, s.TotalPrompts, s.Finished = run.Name, s.Total, c.pending == 0
	for name, st := range c.tools {
		s.Tools[name] = ToolRates{st.Count, st.Success, st.Failure, rate(st.Success, st.Count), rate(st.Failure, st.Count)}
	}
	re := &s.Reasoning
	re.Without = re.Turns - re.With
	re.WithRate, re.WithoutRate = rate(re.With, re.Turns), rate(re.Without, re.Turns)
	s.Usage = UsageShare{Kept: usageOf(c.kept), Spent: usageOf(c.spent)}
	s.Durations = Durations{
		Wall: round2(c.wall.Seconds()), Model: round2(c.model.Seconds()), Tools: round2(c.tool.Seconds()),
		Launches: len(c.launches),
	}
	if c.latest.IsZero() {
		c.latest = run.Created
	}
	s.CompletedAt = c.latest.UTC().Format(timeLayout)
	plan, _, err := c.store.Plan()
	if err != nil {
		return nil, err
	}
	s.BadLines = plan.Bad
	return s, c.finishLaunches()
}

// finishLaunches takes the settings of the last launch, and the time from each
// launch's start to its last outcome. A launch that gave none adds nothing: a
// resume of a complete run leaves the file as it is.
func (c *collector) finishLaunches() error {
	launches, err := c.store.Launches()
	if err != nil {
		return err
	}
	var took time.Duration
	for _, l := range launches {
		if last, ok := c.launches[l.Number]; ok && last.After(l.Started) {
			took += last.Sub(l.Started)
		}
		c.stats.Distribution, c.stats.Model, c.stats.BatchSize = l.Flags["distribution"], l.Flags["model"], l.BatchSize
		c.stats.RetryFailed = l.Flags["retry_failed"]
	}
	c.stats.Duration = round2(took.Seconds())
	return nil
}

// rate is a percentage, 0 of nothing.
func rate(part, whole int) Decimal {
	if whole == 0 {
		return 0
	}
	return round2(100 * float64(part) / float64(whole))
}

func usageOf(u db.Usage) Usage {
	return Usage{u.PromptTokens, u.CompletionTokens, u.ReasoningTokens, u.CachedTokens, roundCost(u.Cost), u.CostKnown}
}
