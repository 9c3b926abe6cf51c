package engine

import "hermes-batch/engine/flags"

// Intro opens the help of run.
const Intro = `Runs every prompt of a JSONL dataset through a tool-calling LLM agent, in
parallel, and writes each session as a trajectory to data/<run_name>/.

Usage:
  hermes-batch --dataset_file=FILE --batch_size=N --run_name=NAME [flags]
  hermes-batch --dataset_file=FILE --batch_size=N --run_name=NAME --resume
  hermes-batch --input FILE --output FILE
  hermes-batch --list_distributions
  hermes-batch status|export|check|simulate|version|help

Flags may have dashes for underscores, one or two in front, and "=" or a space
before the value. Each is also read from the environment (HERMES_BATCH_MAX_TURNS
for --max_turns) and from the JSON file of --config. A flag beats the
environment, which beats the file. With --resume, what none of them sets keeps
the value of the run's last session.

Exit codes: 0 all prompts have an outcome and none failed; 1 some prompts
failed; 2 usage, configuration or a missing key; 3 stopped early; 130 and 143
interrupted by SIGINT or SIGTERM. After 3, 130 and 143 --resume goes on where
the run was.
`

// CheckIntro opens the help of check.
const CheckIntro = `Verifies a run's store: pages, hashes of steps, chains, identities, plan.

Usage:
  hermes-batch check --run_name=NAME | --store=FILE [--deep]

Exit codes: 0 sound; 3 damaged, or in use by a run.
`

// Groups order the flags of run in its help. The names of other packages'
// flags of run stand here too.
var Groups = []flags.Group{
	{Title: "Input and run", Names: []string{"dataset_file", "batch_size", "run_name", "max_samples", "input", "output", "config"}},
	{Title: "Model", Names: []string{"model", "base_url", "api_key", "max_tokens", "max_turns", "reasoning_effort", "reasoning_disabled", "ephemeral_system_prompt", "prefill_messages_file", "request_timeout"}},
	{Title: "OpenRouter routing", Names: []string{"providers_allowed", "providers_ignored", "providers_order", "provider_sort"}},
	{Title: "Tools", Names: []string{"distribution", "distribution_file", "distribution_seed", "list_distributions", "work_dir", "keep_sandboxes"}},
	{Title: "Work", Names: []string{"num_workers", "prompt_timeout", "shutdown_grace"}},
	{Title: "Going on", Names: []string{"resume", "overwrite", "allow_config_change", "retry_failed", "retry_incomplete"}},
	{Title: "Output", Names: []string{"keep_without_reasoning", "keep_invalid_tools", "verbose", "log_prefix_chars"}},
}
