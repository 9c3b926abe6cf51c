package simulated

import (
	"fmt"
	"strconv"
	"strings"
)

// step is one thing to do with files or in the shell.
type step struct {
	deed  deed
	files []string
	lines []string // to write, add or remove
	old   string   // to be replaced …
	new   string   // … by this
	line  string   // command
	about string   // what a question is about, in lower case; what a command does
}

// mostSteps bounds what one prompt can ask for.
const mostSteps = 12

var (
	replaceForm = lazy(`(?i)^(?:replace|substitute) (?:(?:all|every|each|the|occurrences?|of|words?|lines?|text|value) )*(.+?) (?:with|by) (?:the (?:word|text|line) )?(.+?)(?: (?:in|everywhere|throughout)\b.*)?$`)
	changeForm  = lazy(`(?i)^(?:change|correct|fix) (?:(?:all|every|each|the|occurrences?|of|words?|lines?|text|value) )*(.+?) (?:to|into) (?:the (?:word|text|line) )?(.+?)(?: (?:in|everywhere|throughout)\b.*)?$`)
	countForm   = lazy(`numbers (?:from )?(\d{1,4}) (?:to|through) (\d{1,4})`)
	folderForm  = lazy(`(?i)(?:directory|folder) (?:named |called )?([\pL\pN_][\pL\pN_./-]*)`)
)

// findSteps reads a prompt about files and commands.
func findSteps(p *prose) task {
	if strings.Contains(p.masked, "://") {
		return nil // about the web, with file names only in addresses
	}
	var steps []step
	file := ""
	for _, c := range clauses(p.masked) {
		names := p.files(c.text)
		if len(names) > 0 {
			file = names[0]
		} else if file != "" {
			names = []string{file}
		}
		if s, ok := p.step(c, names); ok && len(steps) < mostSteps {
			steps = append(steps, s...)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return func(r *replay) answer { return work(r, steps) }
}

// step understands one clause; the names are its files, or the one that was
// spoken of last.
func (p *prose) step(c clause, names []string) ([]step, bool) {
	d := verbs[c.verb]
	if commands := p.commands(c, d); len(commands) > 0 {
		return commands, true
	}
	s := step{deed: d, files: names, about: c.low}
	switch d {
	case toCreate:
		return p.creation(c, s)
	case toAdd, toRemove:
		s.lines = p.content(c)
		return []step{s}, len(names) > 0 && (len(s.lines) > 0 || d == toRemove && onlyNames(c.low))
	case toChange:
		ok := p.replacement(c, &s)
		return []step{s}, ok && len(names) > 0
	case toArrange, toRead:
		return []step{s}, len(names) > 0
	case toTransfer:
		return []step{s}, len(names) == 2
	case toAsk:
		return question(s)
	}
	return nil, false
}

// commands are the backquoted ones of a clause that wants something run.
func (p *prose) commands(c clause, d deed) (steps []step) {
	if d != toExecute && d != toAsk && d != toRead {
		return nil
	}
	for _, q := range p.quoted(c.text) {
		if q.code || d == toExecute {
			steps = append(steps, step{deed: toExecute, line: strings.TrimSpace(q.text)})
		}
	}
	return steps
}

func (p *prose) creation(c clause, s step) ([]step, bool) {
	if m := folderForm().FindStringSubmatch(c.text); m != nil && len(p.files(c.text)) == 0 {
		return []step{{deed: toExecute, line: "mkdir -p " + m[1], about: "Created the folder " + m[1] + "."}}, true
	}
	s.lines = p.content(c)
	mentioned := len(p.files(c.text)) > 0 || c.has(" it", "the file", "there", " in ", "content")
	return []step{s}, len(s.files) > 0 && mentioned && (len(s.lines) > 0 || onlyNames(c.low))
}

// plainWords may stand in a clause beside file names without asking for more.
var plainWords = map[string]bool{"create": true, "make": true, "remove": true, "delete": true, "a": true, "an": true, "the": true, "it": true, "new": true,
	"empty": true, "text": true, "file": true, "files": true, "named": true, "called": true, "and": true, "two": true, "three": true, "four": true, "five": true}

// onlyNames reports whether a clause says nothing but which files it is about.
// Only then is a file made empty or deleted.
func onlyNames(low string) bool {
	for word := range strings.FieldsSeq(withoutNames(low)) {
		if word = strings.Trim(word, ".,:;"); word != "" && !plainWords[word] {
			return false
		}
	}
	return true
}

// content are the lines that a clause tells: quoted ones, or what follows the
// usual phrases.
func (p *prose) content(c clause) (lines []string) {
	for _, q := range p.quoted(c.text) {
		lines = append(lines, strings.Split(q.text, "\n")...)
	}
	if len(lines) > 0 {
		return lines
	}
	if m := countForm().FindStringSubmatch(c.low); m != nil {
		return numbered(m[1], m[2])
	}
	if list, ok := c.after(" lines:", " items:", " words:", " entries:"); ok {
		return listed(list)
	}
	text, _ := c.after(" with the content ", " with content ", " with the text ", " with the line ", " containing ", " that says ", " saying ", " reading ",
		"append the line ", "add the line ", "remove the line ", "delete the line ", "content:", "text:", "line:")
	if text = strings.TrimSpace(strings.TrimPrefix(text, ":")); text != "" {
		lines = []string{text}
	}
	return lines
}

func numbered(from, to string) (lines []string) {
	a, _ := strconv.Atoi(from)
	b, _ := strconv.Atoi(to)
	for n := a; n <= b && n < a+1000; n++ {
		lines = append(lines, strconv.Itoa(n))
	}
	return lines
}

var listSeparators = lazy(`,? and |, ?|; ?`)

func listed(text string) (items []string) {
	for _, item := range listSeparators().Split(strings.TrimSpace(text), -1) {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func (p *prose) replacement(c clause, s *step) bool {
	m := replaceForm().FindStringSubmatch(c.text)
	if m == nil {
		m = changeForm().FindStringSubmatch(c.text)
	}
	if m == nil {
		return false
	}
	s.old, s.new = p.open(m[1]), p.open(m[2])
	return s.old != ""
}

// question finds out whether a question is one about a file or the machine.
func question(s step) ([]step, bool) {
	for _, k := range machineQuestions {
		if containsAny(s.about, k.words) && (len(s.files) == 0 || k.folder) {
			return []step{{deed: toExecute, line: k.line}}, true
		}
	}
	asked := containsAny(s.about, []string{"line", "word", "character", "byte", "content", "says", "contain", "in it", "it has", "file", "read", "look", "result", "now"})
	return []step{s}, len(s.files) > 0 && asked
}

// machineQuestions are answered by a command.
var machineQuestions = []struct {
	words  []string
	line   string
	folder bool // also when a file was spoken of
}{
	{[]string{"how many files", "number of files", "count the files", "how many entries"}, "ls -A | wc -l", true},
	{[]string{"list the files", "list all files", "list files", "which files", "what files", "contents of the folder", "contents of the directory", "list the current", "list the folder", "list the directory"}, "ls -1A", true},
	{[]string{"current directory", "working directory", "current folder"}, "pwd", true},
	{[]string{"today's date", "current date", "date is it", "the date today", "what time is it", "what day is it"}, "date -u", false},
	{[]string{"which user", "what user", "user name", "username", "who am i", "who are you logged"}, "id -un", false},
	{[]string{"kernel version", "which kernel", "what kernel", "operating system is", "operating system are you"}, "uname -sr", false},
	{[]string{"how many cpus", "how many cores", "how many processors", "number of cpus", "number of cores"}, "nproc", false},
	{[]string{"disk space", "free space", "disk usage"}, "df -h .", false},
	{[]string{"how much memory", "free memory", "how much ram"}, "head -n 3 /proc/meminfo", false},
	{[]string{"python version", "version of python"}, "python3 --version", false},
}

func (s step) file() string { return s.files[0] }

func (s step) text() string {
	if len(s.lines) == 0 {
		return ""
	}
	return strings.Join(s.lines, "\n") + "\n"
}

func (s step) String() string {
	return map[deed]string{
		toCreate: "create ", toAdd: "add to ", toChange: "change ", toRemove: "remove from ", toArrange: "sort ",
		toRead: "read ", toAsk: "look into ", toExecute: "run ", toTransfer: "move ",
	}[s.deed] + fmt.Sprint(strings.Join(s.files, ", "), s.line)
}
