package simulated

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
)

// The tools that the model can use are calculator, terminal, read_file and
// write_file, by the names under which requests offer them.

func calculate(expression string) call {
	return call{"calculator", arguments("expression", expression)}
}

func command(line string) call {
	return call{"terminal", arguments("command", line)}
}

// reading is the call that reads a file: with the terminal if that is what is
// offered.
func (r *replay) reading(name string) (c call, ok bool) {
	switch {
	case r.offers("read_file"):
		return call{"read_file", arguments("path", name)}, true
	case r.offers("terminal"):
		return command("cat " + quoteShell(name)), true
	}
	return call{}, false
}

func (r *replay) writing(name, content string) (c call, ok bool) {
	switch {
	case r.offers("write_file"):
		return call{"write_file", arguments("path", name, "content", content)}, true
	case r.offers("terminal"):
		line := "printf %s " + quoteShell(content) + " > " + quoteShell(name)
		if folder := path.Dir(name); folder != "." {
			line = "mkdir -p " + quoteShell(folder) + " && " + line
		}
		return command(line), true
	}
	return call{}, false
}

// readFile reads a file in a turn of its own. The trouble is why it could not.
func (r *replay) readFile(thought, name string) (text string, res result, trouble string) {
	c, ok := r.reading(name)
	if !ok {
		return "", result{}, "no tool is offered that reads files"
	}
	res = r.one(thought, "", c)
	return res.content(), res, res.fileTrouble()
}

func (r *replay) writeFile(thought, name, content string) (trouble string) {
	c, ok := r.writing(name, content)
	if !ok {
		return "no tool is offered that writes files"
	}
	return r.one(thought, "", c).fileTrouble()
}

// fileTrouble counts a command that did not succeed as a failure as well.
func (r result) fileTrouble() string {
	if why := r.failure(); why != "" || r.fields.ExitCode == 0 {
		return why
	}
	return firstLine(r.fields.Output, 200)
}

// run runs a command. A program that is not there is looked for once, so that
// the answer can say so for sure.
func (r *replay) run(thought, line string) result {
	res := r.one(thought, "", command(line))
	if res.fields.ExitCode != notFound {
		return res
	}
	name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	r.one("The shell does not find "+name+". Before I say that it is missing, I look whether it is installed at all.", "",
		command("command -v "+quoteShell(name)+" || echo "+quoteShell(name+" is not installed")))
	return res
}

// notFound is the exit status of a shell that does not find the program.
const notFound = 127

// arguments is a JSON object of names and texts that come in pairs.
func arguments(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		b.WriteString(map[bool]string{true: "{", false: ", "}[i == 0])
		b.WriteString(quoteJSON(pairs[i]) + ": " + quoteJSON(pairs[i+1]))
	}
	return b.String() + "}"
}

func quoteJSON(text string) string {
	return string(bytes.TrimSuffix(encode(text), []byte("\n")))
}

// encode is JSON as a model writes it: nothing escaped for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only own types without cycles or channels come here
	}
	return b.Bytes()
}

func quoteShell(text string) string {
	plain := strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == ""
	if plain && text != "" && text[0] != '-' {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
