package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// kind is a sort of prompt: what it is about, and how it has to end whatever
// happens on the wire.
type kind struct {
	name  string
	share int
	text  string // for the embedded model to understand, with {n} for the number
	turns []turn // of the scripted one, for what the embedded one never does
	hex   string // fault that each of its requests meets
	end   string // with its reason
	says  []string
	again bool // its turns come more than once: its sandbox is lost, or they are empty
	slow  bool // takes a minute or more by itself
}

const (
	answered = "completed answer"
	broken   = "failed infrastructure"
	lost     = "failed sandbox_lost"
)

// kinds are what prompts are about: everything that tools can do to the program,
// every end of a conversation, and every fault without end.
var kinds = append([]kind{
	{name: "sum", share: 160, text: "What is {n} * 17?", end: answered, says: []string{"{n} * 17 = "}},
	{name: "parallel sums", share: 60, text: "[parallel] Calculate {n} * 17, then add 5.", end: answered},
	{name: "shell", share: 100, text: "Run `echo {n} >> log; echo did {n}`, then run `cat log`.", end: answered, says: []string{"did {n}"}},
	{name: "file", share: 80, text: "Create f{n}.txt with the lines 'a' and 'b', then append the line 'c' and read it back.", end: answered},
	{name: "long answer", share: 30, text: "[long 100000] Tell {n} stories.", end: answered},
	{name: "slow answer", share: 20, text: "[slow 1500] Who was person number {n} in the list?", end: answered},
	{name: "empty at first", share: 20, text: "[empty-first] Who was person number {n} in the list?", end: answered, again: true},
	{name: "bad arguments", share: 20, text: "[bad-arguments] Calculate {n} * 3.", end: answered},
	{name: "no reasoning", share: 20, text: "[no-reasoning] Calculate {n} * 3.", end: answered},
	{name: "unknown tool", share: 20, text: "[unknown-tool] Calculate {n} * 3.", end: answered},
	{name: "unknown tools for ever", share: 5, text: "[unknown-tool-loop] Ask {n} times.", end: "partial invalid_tool_calls"},
	{name: "too many turns", share: 5, text: "[max-turns] Count from {n}.", end: "incomplete max_turns"},
	{name: "only thoughts", share: 5, text: "[reasoning-only] Think of {n}.", end: "incomplete only_reasoning"},
	{name: "refusal", share: 5, text: "[refuse] Do bad thing number {n}.", end: "incomplete refusal"},
	{name: "cut answers", share: 5, text: "[cut] Who was person number {n} in the list?", end: "partial cut_replies"},
	{name: "too long", share: 3, text: "[error 413] Who was person number {n} in the list?", end: "incomplete context"},
	{name: "bad request", share: 3, text: "[error 400] Who was person number {n} in the list?", end: "failed bad_request"},
	{name: "no model", share: 2, text: "[error 404] Who was person number {n} in the list?", end: "failed model_not_found"},
	{name: "empty for ever", share: 2, text: "[empty] Who was person number {n} in the list?", end: "failed empty_reply", again: true},

	{name: "state of the shell", share: 80, end: answered, says: []string{"did {n}", "still {n}", "/sub"}, turns: []turn{
		{run("export N={n}; mkdir -p sub; cd sub; echo did $N")}, {run("pwd; echo still $N")}}},
	{name: "long output", share: 30, end: answered, says: []string{"60000 of {n}"}, turns: []turn{
		{run("seq 60000 | sed 's/$/ of {n}/'")}, {run("tail -c 40 .hermes-results/*")}}},
	{name: "endless output", share: 3, end: answered, says: []string{"end of {n}"}, turns: []turn{
		{run("head -c 20000000 /dev/zero | tr '\\0' x; echo end of {n}")}}},
	{name: "noise", share: 10, end: answered, says: []string{"end of {n}"}, turns: []turn{
		{run("head -c 30000 /dev/urandom; echo; echo end of {n}")}}},
	{name: "timeout", share: 10, end: answered, says: []string{"before {n}", "timed out", "after {n}"}, turns: []turn{
		{within(1, "echo before {n}; sleep 300")}, {run("echo after {n}")}}},
	{name: "deaf command", share: 5, end: answered, says: []string{"timed out", "after {n}"}, turns: []turn{
		{within(1, "trap '' TERM HUP INT; while :; do sleep 0.2; done")}, {run("echo after {n}")}}},
	{name: "talk to a job", share: 20, end: answered, says: []string{"got one {n}", "end of input"}, turns: []turn{
		{background("while read line; do echo got $line {n}; done; echo end of input")},
		{process("submit", "data", "one"), process("poll")}, {process("close")}, {process("wait")}}},
	{name: "noisy job", share: 5, end: answered, says: []string{"line {n}", "killed"}, turns: []turn{
		{background("yes line {n} | head -c 3000000; sleep 400")}, {process("log")}, {process("kill"), process("list")}}},
	{name: "jobs left", share: 10, end: answered, says: []string{"left {n}"}, turns: []turn{
		{background("sleep 400"), background("sleep 400 & sleep 400")}, {run("sleep 400 > /dev/null 2>&1 & echo left {n}")}}},
	{name: "terminal", share: 10, end: answered, says: []string{"on /dev/pts", "30 120"}, turns: []turn{
		{onTerminal("echo on $(tty); stty size")}}},
	{name: "forks", share: 10, end: answered, says: []string{"forked {n}", "gone {n}"}, turns: []turn{
		{run("for i in $(seq 20); do (sleep 0.05; echo $i) & done; wait; echo forked {n}")},
		{run("(setsid sh -c 'sleep 400; true' > /dev/null 2>&1 &); (nohup sleep 400 > /dev/null 2>&1 &); echo gone {n}")}}},
	{name: "file tools", share: 40, end: answered, says: []string{"second of {n}"}, turns: []turn{
		{{"write_file", pairs{"path", "notes.md", "content", "first of {n}\nlast of {n}\n"}}},
		{{"read_file", pairs{"path", "notes.md"}}, {"search_files", pairs{"pattern", "last of [0-9]+"}}},
		{{"patch", pairs{"path", "notes.md", "old_string", "last of", "new_string", "second of"}}},
		{{"read_file", pairs{"path", "../nonce"}}, {"read_file", pairs{"path", "notes.md"}}}}},
	{name: "wrong calls", share: 10, end: answered, says: []string{"right {n}"}, turns: []turn{
		{{"terminal", pairs{"comand", "ls"}}, {"process", pairs{"action", "poll", "session_id", "none"}}, {"read_file", pairs{"path", "/etc/shadow"}}},
		{run("echo right {n}")}}},
	{name: "work folder removed", share: 5, end: answered, says: []string{"The shell is back", "back {n}"}, turns: []turn{
		{run(`rm -rf "$PWD"`)}, {run("true")}, {run("echo back {n}")}}},
	{name: "folder without rights", share: 5, end: answered, says: []string{"locked {n}"}, turns: []turn{
		{run("mkdir -p d/e; touch d/e/f; chmod 0 d/e d; echo locked {n}")}}},
	{name: "closed output", share: 5, end: answered, says: []string{"after {n}"}, turns: []turn{
		{run("exec >&- 2>&- <&-; sleep 0.2")}, {run("echo after {n}")}}},
	{name: "kills itself", share: 5, end: answered, says: []string{"137", "after {n}"}, turns: []turn{
		{run("kill -9 $$"), run("kill -9 0")}, {run("echo after {n}")}}},
	{name: "stops itself", share: 5, end: answered, says: []string{"timed out", "after {n}"}, turns: []turn{
		{within(1, "kill -STOP $$")}, {run("echo after {n}")}}},
	{name: "kills its parent", share: 3, end: broken, turns: []turn{{run("kill -9 $PPID; sleep 300")}}},
	{name: "ends its parent", share: 3, end: broken, turns: []turn{{run("kill -TERM $PPID; sleep 300")}}},
	{name: "stops its parent", share: 3, end: answered, says: []string{"timed out", "after {n}"}, turns: []turn{
		{within(1, "kill -STOP $PPID; sleep 300")}, {run("echo after {n}")}}},
	{name: "job stops its parent", share: 3, end: answered, says: []string{"running", "after {n}"}, turns: []turn{
		{background("kill -STOP $PPID; sleep 400")}, {process("poll")}, {run("echo after {n}")}}},
	{name: "kills the parent of a job", share: 2, end: lost, again: true, turns: []turn{
		{background("sleep 0.2; kill -9 $PPID; sleep 300")}, {process("wait")}}},
	{name: "removes its sandbox", share: 2, end: lost, again: true, turns: []turn{
		{run(`rm -rf "$(dirname "$PWD")"`)}, {run("echo after {n}")}}},
	{name: "out of time", share: 1, slow: true, end: "incomplete prompt_timeout", turns: []turn{
		{within(600, "sleep 590")}}},
}, hexed()...)

// hexed are prompts that meet one fault at each of their requests.
func hexed() (list []kind) {
	for _, f := range faults {
		if f.reason != "" {
			list = append(list, kind{name: "always " + f.name, share: 1, text: "Who was person number {n} in the list?",
				hex: f.name, end: "failed " + f.reason, slow: f.reason == "timeout"})
		}
	}
	return list
}

// dealer decides what the prompts of a dataset are about: the first ones are of
// all kinds by turns, the others are drawn by the shares.
type dealer struct {
	seed  uint64
	kinds []kind
	total int
}

func newDealer(seed uint64, kinds []kind) *dealer {
	d := &dealer{seed: seed, kinds: kinds}
	for _, k := range kinds {
		d.total += k.share
	}
	return d
}

// kind is that of the prompt with that number.
func (d *dealer) kind(n int) *kind {
	if n < len(d.kinds) {
		return &d.kinds[n]
	}
	at := rand.New(rand.NewPCG(d.seed, uint64(n))).IntN(d.total)
	for i := range d.kinds {
		if at -= d.kinds[i].share; at < 0 {
			return &d.kinds[i]
		}
	}
	panic("shares do not add up")
}

// prompt is the text of the prompt with that number. It begins with the number.
func (d *dealer) prompt(n int) string {
	k := d.kind(n)
	if k.text != "" {
		return fmt.Sprintf("%d: %s", n, numbered(k.text, n))
	}
	return fmt.Sprintf("%d: play %q.", n, k.name)
}

// numberOf reads the number of a prompt's text, -1 if it has none.
func numberOf(text string) int {
	head, _, _ := strings.Cut(text, ": ")
	n, err := strconv.Atoi(head)
	if err != nil {
		return -1
	}
	return n
}

func numbered(text string, n int) string {
	return strings.ReplaceAll(text, "{n}", strconv.Itoa(n))
}
