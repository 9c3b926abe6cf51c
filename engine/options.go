package engine

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"hermes-batch/engine/flags"
	"hermes-batch/engine/model"
)

// Defaults of the flags of run.
const (
	DefaultModel         = "anthropic/claude-sonnet-4.6"
	DefaultDistribution  = "default"
	DefaultMaxTurns      = 10
	DefaultWorkers       = 4
	DefaultPromptTimeout = 2 * time.Hour
	// DefaultRequestTimeout bounds one try of one model call: long enough for
	// a long answer of a slow reasoning model.
	DefaultRequestTimeout = 30 * time.Minute
	DefaultShutdownGrace  = 5 * time.Second
	DefaultPreviewChars   = 100
	// maxWorkers is beyond what one machine can have in flight.
	maxWorkers = 100_000
	// shortFormBatch is the batch size of the --input/--output form.
	shortFormBatch = 100
)

// simulatedModel is the name of the embedded model.
const simulatedModel = "simulated"

// Options are the flags of run. The zero value is not usable; Register fills
// in the defaults.
type Options struct {
	Input, Output string // short form

	DatasetFile string
	BatchSize   int
	RunName     string
	MaxSamples  int // 0: all

	Distribution     string
	DistributionFile string
	DistributionSeed int64

	Model             string
	BaseURL           string
	APIKey            string
	MaxTokens         int // per model reply; 0: the model's own limit
	ReasoningEffort   string
	ReasoningDisabled bool
	ProvidersAllowed  []string
	ProvidersIgnored  []string
	ProvidersOrder    []string
	ProviderSort      string
	EphemeralPrompt   string
	PrefillFile       string

	MaxTurns       int
	Workers        int
	PromptTimeout  time.Duration
	RequestTimeout time.Duration
	ShutdownGrace  time.Duration

	Resume            bool
	Overwrite         bool
	AllowConfigChange bool
	RetryFailed       string   // all, transient or none
	RetryIncomplete   []string // reasons, or "all"

	WorkDir       string
	KeepSandboxes string // never, failed or always

	Verbose      bool
	PreviewChars int
}

// Register puts the flags of run on fs and sets their defaults.
func (o *Options) Register(fs *flag.FlagSet) {
	o.registerInput(fs)
	o.registerModel(fs)
	o.registerRun(fs)
}

func (o *Options) registerInput(fs *flag.FlagSet) {
	fs.StringVar(&o.DatasetFile, "dataset_file", "", "JSONL `file` of prompts, one object a line with a \"prompt\" key (required)")
	o.BatchSize = 0
	fs.Var(flags.Min(&o.BatchSize, 1), "batch_size", "prompts per batch file, at least 1 (required); a batch groups output, it holds no work up")
	fs.StringVar(&o.RunName, "run_name", "", "`name` of the run; its folder is data/<run_name>/ (required)")
	fs.Var(flags.MinOr(&o.MaxSamples, 1, "all"), "max_samples", "only the first `n` valid rows of the dataset, or all")
	fs.StringVar(&o.Input, "input", "", "short form: JSONL `file` of prompts; needs --output alone")
	fs.StringVar(&o.Output, "output", "", "short form: `file` for the rows; the store lies beside it in <output>.run/")
	fs.StringVar(&o.Distribution, "distribution", DefaultDistribution, "toolset distribution to draw from; --list_distributions shows them")
	fs.StringVar(&o.DistributionFile, "distribution_file", "", "JSON `file` with further distributions: name -> toolset -> percent")
	fs.Int64Var(&o.DistributionSeed, "distribution_seed", 0, "seed of the draw of toolsets")
}

func (o *Options) registerModel(fs *flag.FlagSet) {
	fs.StringVar(&o.Model, "model", DefaultModel, "model to call; \"simulated\" is the embedded one, which needs no key and no network")
	fs.StringVar(&o.BaseURL, "base_url", model.OpenRouterURL, "`URL` of any OpenAI-compatible endpoint")
	fs.Var(flags.Secret(&o.APIKey), "api_key", "`key` of the endpoint; better given by OPENROUTER_API_KEY, NOUS_API_KEY or OPENAI_API_KEY; never stored")
	fs.Var(flags.Min(&o.MaxTokens, 1), "max_tokens", "tokens per model reply, at least 1 (default the model's own limit)")
	fs.Var(flags.Enum(&o.ReasoningEffort, model.Efforts()...), "reasoning_effort", "none, minimal, low, medium, high or xhigh (default medium on OpenRouter and Nous, elsewhere not sent)")
	fs.BoolVar(&o.ReasoningDisabled, "reasoning_disabled", false, "reasoning off altogether; wins over --reasoning_effort")
	fs.Var(flags.CommaList(&o.ProvidersAllowed), "providers_allowed", "comma `list` of the only OpenRouter providers to use")
	fs.Var(flags.CommaList(&o.ProvidersIgnored), "providers_ignored", "comma `list` of OpenRouter providers to avoid")
	fs.Var(flags.CommaList(&o.ProvidersOrder), "providers_order", "comma `list` of OpenRouter providers to try in this order")
	fs.Var(flags.Enum(&o.ProviderSort, "price", "throughput", "latency"), "provider_sort", "price, throughput or latency: how OpenRouter picks a provider")
	fs.StringVar(&o.EphemeralPrompt, "ephemeral_system_prompt", "", "system prompt `text` that is sent but stands in no output")
	fs.StringVar(&o.PrefillFile, "prefill_messages_file", "", "JSON `file`, an array of {role, content}, sent before each prompt but in no output")
	o.RequestTimeout = DefaultRequestTimeout
	fs.Var(flags.Duration(&o.RequestTimeout), "request_timeout", "time `limit` of one try of one model call, as 90s, 30m or 2h; a plain number is seconds")
}

func (o *Options) registerRun(fs *flag.FlagSet) {
	o.MaxTurns, o.Workers = DefaultMaxTurns, DefaultWorkers
	fs.Var(flags.Min(&o.MaxTurns, 1), "max_turns", "model turns per prompt, at least 1")
	fs.Var(flags.Min(&o.Workers, 1), "num_workers", "prompts in flight, at least 1")
	o.PromptTimeout, o.ShutdownGrace = DefaultPromptTimeout, DefaultShutdownGrace
	fs.Var(flags.Duration(&o.PromptTimeout), "prompt_timeout", "time `limit` of one prompt; waiting for rate limits is not counted")
	fs.Var(flags.Duration(&o.ShutdownGrace), "shutdown_grace", "how long calls in flight may still finish after the first interrupt")
	fs.BoolVar(&o.Resume, "resume", false, "go on with the run if it exists, else start it")
	fs.BoolVar(&o.Overwrite, "overwrite", false, "move an existing run aside and start anew")
	fs.BoolVar(&o.AllowConfigChange, "allow_config_change", false, "let --resume go on under other content-changing settings")
	o.RetryFailed, o.KeepSandboxes = "all", "never"
	fs.Var(flags.Enum(&o.RetryFailed, "all", "transient", "none"), "retry_failed", "all, transient or none: which failed prompts --resume tries again")
	fs.Var(retryReasons{&o.RetryIncomplete}, "retry_incomplete", "incomplete and partial prompts that --resume tries again: all, or a comma `list` of their reasons (default none)")
	fs.StringVar(&o.WorkDir, "work_dir", "", "`folder` for the work folders of prompts (default under the user's state folder)")
	fs.Var(flags.Enum(&o.KeepSandboxes, "never", "failed", "always"), "keep_sandboxes", "never, failed or always: work folders that stay when their prompt is done")
	fs.BoolVar(&o.Verbose, "verbose", false, "detailed log")
	o.PreviewChars = DefaultPreviewChars
	fs.Var(flags.Min(&o.PreviewChars, 0), "log_prefix_chars", "characters shown in previews of the log")
}

// notInherited are the flags of run that a resume does not take over from the
// run's last session: secrets, and what a user asks for once.
var notInherited = []string{"api_key", "resume", "overwrite", "allow_config_change", "retry_incomplete", "config", "list_distributions"}

var runName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`) })

// Validate checks what can be told from the flags alone.
func (o *Options) Validate() error {
	if o.short() {
		return o.validateShort()
	}
	if err := o.missing(); err != nil {
		return err
	}
	return o.validateRest()
}

// missing names the required flags that have no value. A resume that names no
// run may get the others from it.
func (o *Options) missing() error {
	var names []string
	if inherits := o.Resume && o.RunName == ""; !inherits {
		if o.DatasetFile == "" {
			names = append(names, "--dataset_file")
		}
		if o.BatchSize == 0 {
			names = append(names, "--batch_size")
		}
	}
	if o.RunName == "" {
		names = append(names, "--run_name")
	}
	why := o.noRun()
	switch n := len(names); n {
	case 0:
		return nil
	case 1:
		return Usagef("%s%s is required; --help shows all flags", why, names[0])
	default:
		return Usagef("%s%s and %s are required (or --input and --output); --help shows all flags", why, strings.Join(names[:n-1], ", "), names[n-1])
	}
}

// noRun tells that there is nothing from which a resume could take its flags.
func (o *Options) noRun() string {
	if folder, err := runFolder(o.RunName); err == nil && o.Resume {
		if there, err := exists(folder.Store()); err == nil && !there {
			return fmt.Sprintf("there is no run %q in %s/ to take flags from, so ", o.RunName, dataRoot)
		}
	}
	return ""
}

func (o *Options) validateRest() error {
	if o.Model == "" {
		return Usagef("--model is empty: name a model, or \"simulated\" for the embedded one")
	}
	if o.Resume && o.Overwrite {
		return Usagef("--resume and --overwrite exclude each other")
	}
	if o.PromptTimeout <= 0 {
		return Usagef("--prompt_timeout must be longer than 0, for example 2h")
	}
	if o.RequestTimeout <= 0 {
		return Usagef("--request_timeout must be longer than 0, for example 30m")
	}
	if o.Workers > maxWorkers {
		return Usagef("--num_workers: %d is more than %d", o.Workers, maxWorkers)
	}
	if o.ShutdownGrace < 0 {
		return Usagef("--shutdown_grace must not be negative")
	}
	return nil
}

// short tells the --input/--output form.
func (o *Options) short() bool { return o.Input != "" || o.Output != "" }

func (o *Options) validateShort() error {
	switch {
	case o.Input == "":
		return Usagef("--output needs --input: the JSONL file of prompts")
	case o.Output == "":
		return Usagef("--input needs --output: the file for the rows")
	case o.DatasetFile != "" || o.RunName != "":
		return Usagef("--input/--output and --dataset_file/--run_name are two forms of the same: use one of them")
	case sameFile(o.Input, o.Output):
		return Usagef("--input and --output name the same file")
	}
	return o.validateRest()
}

func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	two, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}

// dataset is the file of prompts of either form.
func (o *Options) dataset() string {
	if o.short() {
		return o.Input
	}
	return o.DatasetFile
}

// datasetError names the flag of the file of prompts, if the user is to mend
// the error.
func (o *Options) datasetError(err error) error {
	name := "--dataset_file"
	if o.short() {
		name = "--input"
	}
	if errors.Is(err, ErrUsage) {
		return Usagef("%s: %v", name, err)
	}
	return err
}

// batchSize is the batch size of either form.
func (o *Options) batchSize() int {
	if o.short() && o.BatchSize == 0 {
		return shortFormBatch
	}
	return o.BatchSize
}
