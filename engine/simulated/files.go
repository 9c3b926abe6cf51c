package simulated

import (
	"fmt"
	"slices"
	"strings"
)

// worker does the steps of a prompt and remembers what it learns of the files.
type worker struct {
	*replay
	files map[string]*file
	names []string // in the order in which they came up
	told  []string // sentences of the answer
	aim   string   // the plan, part of the first thought
}

// file is what the conversation has shown of one.
type file struct {
	text    string
	known   bool // text is what the file holds
	pending bool // written, and not looked at since
	cut     bool // text is only its beginning
	missing bool
}

// seen reports whether the content is known from looking at it.
func (f *file) seen() bool { return f.known && !f.pending }

// work does steps in order and answers with what came of them.
func work(r *replay, steps []step) answer {
	w := &worker{replay: r, files: map[string]*file{}, aim: aim(steps)}
	if !r.offers("terminal") && !r.offers("read_file") && !r.offers("write_file") {
		return answer{"This needs files or a shell, and no such tool is offered. I say so rather than make something up.",
			"I would need a tool for files or a terminal to do this, and none is offered here, so nothing was done."}
	}
	for _, s := range steps {
		w.do(s)
	}
	w.check()
	return answer{"All steps are done and I have seen their results, so I can report.", strings.Join(w.told, "\n")}
}

// aim tells the plan in a sentence.
func aim(steps []step) string {
	if len(steps) < 2 {
		return ""
	}
	parts := make([]string, len(steps))
	for i, s := range steps {
		parts[i] = s.String()
	}
	return "The task has several steps: " + strings.Join(parts, "; ") + ". "
}

// think puts the plan in front of the first thought.
func (w *worker) think(format string, args ...any) string {
	thought := w.aim + fmt.Sprintf(format, args...)
	w.aim = ""
	return thought
}

func (w *worker) tell(format string, args ...any) {
	w.told = append(w.told, fmt.Sprintf(format, args...))
}

func (w *worker) do(s step) {
	switch s.deed {
	case toCreate:
		w.create(s)
	case toAdd, toChange, toRemove, toArrange:
		w.edit(s)
	case toRead:
		w.show(s)
	case toAsk:
		w.answer(s)
	case toExecute:
		w.execute(s)
	case toTransfer:
		w.transfer(s)
	}
}

func (w *worker) file(name string) *file {
	f := w.files[name]
	if f == nil {
		f = &file{}
		w.files[name] = f
		w.names = append(w.names, name)
	}
	return f
}

// create writes new files, all in one turn.
func (w *worker) create(s step) {
	var calls []call
	for _, name := range s.files {
		c, ok := w.writing(name, s.text())
		if !ok {
			w.tell("No tool that writes files is offered, so I could not create %s.", name)
			return
		}
		calls = append(calls, c)
	}
	thought := w.think("I create %s with %s, as asked.", strings.Join(s.files, " and "), amount(len(s.lines), "line"))
	for i, res := range w.replay.do(thought, "", calls...) {
		w.wrote(s.files[i], s.text(), "Created "+s.files[i], res.fileTrouble())
	}
}

// wrote notes the outcome of a write.
func (w *worker) wrote(name, text, deed, trouble string) {
	if trouble != "" {
		w.tell("%s could not be written: %s", name, trouble)
		return
	}
	*w.file(name) = file{text: text, known: true, pending: text != ""}
	w.tell("%s.", deed)
}

// edit reads a file, unless it is known, and writes it changed.
func (w *worker) edit(s step) {
	name := s.file()
	f := w.file(name)
	if s.deed == toRemove && len(s.lines) == 0 {
		if w.shell("rm "+quoteShell(name), "Deleted "+name) {
			*f = file{missing: true}
		}
		return
	}
	if !f.known && !w.load(name, "Before I change it I look at what it holds.") {
		return
	}
	if f.cut {
		w.tell("%s is too long to be seen whole, so I did not rewrite it.", name)
		return
	}
	text, deed := s.apply(f.text)
	if deed == "" {
		w.tell("%s does not contain “%s”, so there was nothing to change.", name, s.old+strings.Join(s.lines, ", "))
		return
	}
	c, ok := w.writing(name, text)
	if !ok {
		w.tell("No tool that writes files is offered, so %s stays as it is.", name)
		return
	}
	res := w.one(w.think("I know what %s holds now. I write it again with the change and leave the rest as it is.", name), "", c)
	w.wrote(name, text, deed+" in "+name, res.fileTrouble())
}

// apply returns a text with the step's change and what was done in words; ""
// if nothing changes.
func (s step) apply(text string) (changed, deed string) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	lines := strings.SplitAfter(text, "\n")
	switch s.deed {
	case toAdd:
		return text + s.text(), "Appended " + amount(len(s.lines), "line")
	case toArrange:
		lines = lines[:len(lines)-1]
		slices.Sort(lines)
		return strings.Join(lines, ""), "Sorted the lines"
	case toRemove:
		kept := slices.DeleteFunc(lines, func(l string) bool { return slices.Contains(s.lines, strings.TrimSuffix(l, "\n")) })
		if changed = strings.Join(kept, ""); changed != text {
			deed = "Removed the line"
		}
		return changed, deed
	}
	if n := strings.Count(text, s.old); n > 0 {
		return strings.ReplaceAll(text, s.old, s.new), fmt.Sprintf("Replaced “%s” with “%s” (%d×)", s.old, s.new, n)
	}
	return text, ""
}

func amount(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// load reads a file in a turn of its own. If it is not there, one look around
// tells what is.
func (w *worker) load(name, why string) bool {
	f := w.file(name)
	if f.missing {
		return false
	}
	text, res, trouble := w.readFile(w.think("%s is what this is about. %s", name, why), name)
	if trouble == "" {
		*f = file{text: text, known: true, cut: res.fields.Truncated}
		return true
	}
	f.missing = true
	if !w.offers("terminal") {
		w.tell("I could not read %s: %s", name, trouble)
		return false
	}
	res = w.one("Reading "+name+" failed ("+trouble+"). Perhaps it has another name; I look at what is there.", "", command("ls -1A"))
	there := strings.Join(strings.Fields(res.fields.Output), ", ")
	if there == "" {
		there = "nothing"
	}
	w.tell("I could not read %s: %s. The folder holds %s.", name, trouble, clip(there, 200))
	return false
}

// check reads changed files back, all in one turn, and shows them.
func (w *worker) check() {
	var names []string
	var calls []call
	for _, name := range w.names {
		f := w.files[name]
		if c, ok := w.reading(name); ok && f.pending {
			names, calls = append(names, name), append(calls, c)
		}
	}
	if len(calls) == 0 {
		return
	}
	for i, res := range w.replay.do("The writing is done. I read "+strings.Join(names, " and ")+" back to be sure that the content is right.", "", calls...) {
		if trouble := res.fileTrouble(); trouble != "" {
			w.tell("%s could not be read back: %s", names[i], trouble)
			continue
		}
		w.tell("%s", shown(names[i], res.content()))
	}
}

func (w *worker) show(s step) {
	for _, name := range s.files {
		if f := w.file(name); f.seen() || w.load(name, "I read it.") {
			w.tell("%s", shown(name, f.text))
		}
	}
}

// shown is a file's content for the answer.
func shown(name, text string) string {
	if strings.TrimSpace(text) == "" {
		return name + " is empty."
	}
	return name + " now reads:\n" + clip(strings.TrimRight(text, "\n"), 1000)
}
