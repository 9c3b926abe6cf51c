package simulated

import (
	"fmt"
	"strings"
)

var integers = lazy(`\b[0-9]{1,9}\b`)

// program is a prompt that wants one written.
type program struct {
	recipe recipe
	known  bool
	file   string
	args   []string
	wish   string // first line of the prompt
	python bool   // asked for in Python
}

var (
	makes    = []string{"write", "create", "implement", "make ", "build", "develop", "code a"}
	programs = []string{"script", "program", "function", "shell one-liner"}
)

func findProgram(p *prose) task {
	low := strings.ToLower(p.masked)
	if !containsAny(low, makes) || !containsAny(low, programs) || strings.Contains(low, "://") {
		return nil
	}
	g := program{wish: firstLine(p.open(p.masked), 120), file: scriptName(p)}
	g.python = strings.Contains(low, "python") || strings.HasSuffix(g.file, ".py")
	if g.recipe, g.known = findRecipe(p); !g.known {
		g.recipe = recipe{name: "task", does: "only says what is to be done", script: "echo " + quoteShell("To do: "+g.wish) + "\n"}
	}
	g.args = g.recipe.filled(p)
	if g.file == "" {
		g.file = g.recipe.name + ".sh"
		if g.writesPython() {
			g.file = g.recipe.name + ".py"
		}
	}
	return g.play
}

// scriptName is the name that the prompt gives the program; "" if it names none.
// Other files in it are what the program is about.
func scriptName(p *prose) string {
	for _, name := range p.files(p.masked) {
		if strings.HasSuffix(name, ".sh") || strings.HasSuffix(name, ".py") {
			return name
		}
	}
	return ""
}

// writesPython reports whether Python is wanted and known for it.
func (g program) writesPython() bool { return g.python && g.recipe.function != "" }

func (g program) play(r *replay) answer {
	if g.writesPython() {
		return g.inPython(r)
	}
	return g.inShell(r, "")
}

// inShell writes the script and runs it. The note says why it is not Python.
func (g program) inShell(r *replay, note string) answer {
	if strings.HasSuffix(g.file, ".py") {
		g.file = strings.TrimSuffix(g.file, ".py") + ".sh"
	}
	script := "#!/bin/sh\n# " + strings.ToUpper(g.recipe.does[:1]) + g.recipe.does[1:] + ".\n" + g.recipe.script
	line := "sh " + quoteShell(g.file)
	for _, a := range g.args {
		line += " " + quoteShell(a)
	}
	thought := note + "A small POSIX shell script does this and runs everywhere. I write " + g.file + " and then try it."
	trouble := r.writeFile(thought, g.file, script)
	if trouble != "" {
		return untried(g.file, trouble, script)
	}
	if !r.offers("terminal") {
		return answer{"Nothing is offered to run it with.", g.does() + " There is no terminal here, so it was not run."}
	}
	res := r.one("The script is written. Running it shows whether it works.", "", command(line))
	if res.fields.ExitCode != 0 {
		trace := r.one(fmt.Sprintf("Exit status %d: something is wrong. A trace shows where it stops.", res.fields.ExitCode), "",
			command("sh -x"+strings.TrimPrefix(line, "sh")+" 2>&1 | tail -n 20"))
		return answer{"The trace shows what happened; I report it as it is.",
			fmt.Sprintf("I wrote %s, but running it ended with exit status %d.\n%s", g.file, res.fields.ExitCode, clip(trace.fields.Output, 1000))}
	}
	return answer{"It ran and the output is what was asked for.", g.does() + " " + outcome(line, res)}
}

func (g program) does() string {
	text := g.file + " " + g.recipe.does + "."
	if !g.known {
		text += " As the embedded simulated model I know only a few programs, and this one is not among them: what it should do is left open."
	}
	return text
}

// inPython writes a function and a call of it. Where there is no Python, the
// shell does.
func (g program) inPython(r *replay) answer {
	f := stub{name: strings.ReplaceAll(g.recipe.name, "-", "_"), parameters: []string{"n"}}
	if len(g.args) == 2 {
		f.parameters = []string{"a", "b"}
	}
	args := make([]string, len(g.args))
	for i, a := range g.args {
		if args[i] = a; g.recipe.text {
			args[i] = quoteJSON(a)
		}
	}
	code := fmt.Sprintf("def %s(%s):\n%s\n\nprint(%s(%s))\n", f.name, strings.Join(f.parameters, ", "),
		indent(g.recipe.function, "    "), f.name, strings.Join(args, ", "))
	if trouble := r.writeFile("A Python function with a call of it does this. I write "+g.file+" and then try it.", g.file, code); trouble != "" {
		return untried(g.file, trouble, code)
	}
	if !r.offers("terminal") {
		return answer{"Nothing is offered to run it with.", "I wrote " + g.file + ". There is no terminal here, so it was not run."}
	}
	line := "python3 " + quoteShell(g.file)
	res := r.one("The file is written. Running it shows whether it works.", "", command(line))
	if res.fields.ExitCode == notFound {
		return g.inShell(r, "There is no Python on this machine. ")
	}
	return answer{"It ran; I report what it printed.", "I wrote " + g.file + ". " + outcome(line, res)}
}

// untried is the answer if the code could not be written to a file.
func untried(file, trouble, code string) answer {
	return answer{"The code cannot be put into a file here, so it goes into the answer.",
		"I could not write " + file + " (" + trouble + "), so this was not run:\n\n" + code}
}

func indent(code, by string) string {
	lines := strings.SplitAfter(code, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = by + l
		}
	}
	return strings.Join(lines, "")
}
