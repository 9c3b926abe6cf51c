package simulated

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// execute runs a command that the prompt asks for.
func (w *worker) execute(s step) {
	line := s.line
	if !w.offers("terminal") {
		w.tell("No terminal is offered, so I could not run `%s`.", line)
		return
	}
	thought := w.pick("The terminal tells this best: `%s`.", "I run `%s` and look at what it prints.", "`%s` answers this; I run it in the terminal.")
	res := w.run(w.think(thought, line), line)
	w.forget()
	if s.about != "" && res.fileTrouble() == "" {
		w.tell("%s", s.about)
		return
	}
	w.tell("%s", outcome(line, res))
}

// outcome tells what a command came to.
func outcome(line string, res result) string {
	output := clip(strings.TrimSpace(res.fields.Output), 2000)
	switch why := res.failure(); {
	case why != "":
		return "`" + line + "` could not be run: " + why
	case res.fields.ExitCode != 0:
		return strings.TrimSpace("`" + line + "` ended with exit status " + strconv.Itoa(res.fields.ExitCode) + ". " + output)
	case output == "":
		return "`" + line + "` ran without output."
	case strings.Contains(output, "\n"):
		return "`" + line + "` printed:\n" + output
	}
	return "`" + line + "` printed: " + output
}

// shell runs a command of the model's own and tells the deed if it worked.
func (w *worker) shell(line, deed string) (done bool) {
	if !w.offers("terminal") {
		w.tell("No terminal is offered, so this was not done: %s.", line)
		return false
	}
	res := w.run(w.think("That is a job for the shell: `%s`.", line), line)
	if trouble := res.fileTrouble(); trouble != "" {
		w.tell("`%s` failed: %s", line, trouble)
		return false
	}
	w.tell("%s.", deed)
	return true
}

func (w *worker) transfer(s step) {
	from, to := s.files[0], s.files[1]
	verb, deed := "mv ", "Moved "
	if strings.HasPrefix(s.about, "copy") {
		verb, deed = "cp ", "Copied "
	}
	if !w.shell(verb+quoteShell(from)+" "+quoteShell(to), deed+from+" to "+to) {
		return
	}
	*w.file(to) = file{pending: true}
	if verb == "mv " {
		*w.file(from) = file{missing: true}
	}
}

// forget drops what is known of files: a command may have changed or made them.
func (w *worker) forget() {
	for _, f := range w.files {
		f.known, f.missing = false, false
	}
}

// answer answers a question about a file: from its content if that is known,
// counts by the terminal else.
func (w *worker) answer(s step) {
	name := s.file()
	f := w.file(name)
	flag, what := counted(s.about)
	if flag != "" && !f.seen() && w.offers("terminal") {
		line := "wc " + flag + " < " + quoteShell(name)
		res := w.run(w.think("`wc` counts the %s of %s.", what, name), line)
		if trouble := res.fileTrouble(); trouble != "" {
			w.tell("The %s of %s could not be counted: %s", what, name, trouble)
			return
		}
		f.pending = false
		w.tell("%s has %s %s.", name, strings.TrimSpace(res.fields.Output), what)
		return
	}
	if f.seen() || w.load(name, "I read it to answer the question.") {
		w.tell("%s", told(name, f.text, s.about))
	}
}

// counted says what a question counts, and the flag of wc for it.
func counted(about string) (flag, what string) {
	switch {
	case !containsAny(about, []string{"how many", "count", "number of"}):
		return "", ""
	case strings.Contains(about, "word"):
		return "-w", "words"
	case strings.Contains(about, "character"):
		return "", "characters" // what wc takes for one depends on the locale
	case strings.Contains(about, "byte"):
		return "-c", "bytes"
	}
	return "-l", "lines"
}

// told answers a question from a file's content.
func told(name, text, about string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		lines = lines[:0]
	}
	_, what := counted(about)
	switch {
	case what == "words":
		return name + " has " + strconv.Itoa(len(strings.Fields(text))) + " words."
	case what == "characters":
		return name + " has " + strconv.Itoa(utf8.RuneCountInString(text)) + " characters."
	case what == "bytes":
		return name + " has " + strconv.Itoa(len(text)) + " bytes."
	case what == "lines":
		return name + " has " + strconv.Itoa(len(lines)) + " lines."
	case len(lines) == 0:
		return name + " is empty."
	case strings.Contains(about, "first line"):
		return "The first line of " + name + " is “" + lines[0] + "”."
	case strings.Contains(about, "last line"):
		return "The last line of " + name + " is “" + lines[len(lines)-1] + "”."
	}
	return shown(name, text)
}
