package flags

import (
	"flag"
	"io"
	"time"
)

// sample holds one flag of every kind.
type sample struct {
	model, sort, key, prompt string
	turns                    int
	limit                    time.Duration
	allowed                  []string
	resume, verbose          bool
	seed                     int64
	rate                     float64
	workers                  uint
}

func newSample() (*sample, *flag.FlagSet) {
	s := &sample{turns: 10, limit: 2 * time.Hour, key: "sk-preset-key"}
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&s.model, "model", "anthropic/claude-sonnet-4.6", "model to call; on OpenRouter a bare name means the same, and the rest of this text is long enough to be wrapped on every terminal there is")
	fs.StringVar(&s.prompt, "ephemeral_system_prompt", "", "system prompt used at call time")
	fs.Var(Enum(&s.sort, "price", "throughput", "latency"), "provider_sort", "price, throughput or latency")
	fs.Var(Min(&s.turns, 1), "max_turns", "model turns per prompt")
	fs.Var(Duration(&s.limit), "prompt_timeout", "time for one prompt")
	fs.Var(CommaList(&s.allowed), "providers_allowed", "comma list of `names`")
	fs.Var(Secret(&s.key), "api_key", "key of the endpoint")
	fs.BoolVar(&s.resume, "resume", false, "go on with an existing run")
	fs.BoolVar(&s.verbose, "verbose", false, "detailed log\nin more than one line")
	fs.Int64Var(&s.seed, "distribution_seed", 0, "seed of the draw")
	fs.Float64Var(&s.rate, "rate", 0.5, "calls per second")
	fs.UintVar(&s.workers, "num_workers", 4, "prompts in flight")
	fs.BoolFunc("retry_incomplete", "try these `REASON,…` again", func(string) error { return nil })
	return s, fs
}
