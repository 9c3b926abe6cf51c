package tools

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of what is parsed of a command: the parser is recursive.
const (
	maxScript = 32 << 10 // bytes
	maxDepth  = 200      // brackets within each other
)

// statements parses a shell script as far as it is one.
func statements(script string) []*syntax.Stmt {
	var list []*syntax.Stmt
	for s, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(parsable(script))) {
		if err == nil {
			list = append(list, s)
		}
	}
	return list
}

// parsable is the part of a script that the parser can take without a stack of its own size.
func parsable(script string) string {
	script = script[:min(len(script), maxScript)]
	depth := 0
	for i := range len(script) {
		switch script[i] {
		case '(', '{', '[', '`':
			depth++
		case ')', '}', ']':
			depth = max(0, depth-1)
		}
		if depth > maxDepth {
			return script[:i]
		}
	}
	return script
}

// words returns the words of a simple command as far as they are fixed: quotes are resolved, and
// a word with an expansion in it keeps its source text.
func words(call *syntax.CallExpr) []string {
	list := make([]string, len(call.Args))
	for i, w := range call.Args {
		list[i] = word(w)
	}
	return list
}

func word(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		wordPart(&b, part)
	}
	return b.String()
}

func wordPart(b *strings.Builder, part syntax.WordPart) {
	switch p := part.(type) {
	case *syntax.Lit:
		b.WriteString(strings.ReplaceAll(p.Value, "\\", ""))
	case *syntax.SglQuoted:
		b.WriteString(p.Value)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			wordPart(b, inner)
		}
	case *syntax.ParamExp:
		if p.Param != nil {
			b.WriteString("$" + p.Param.Value)
		}
	default:
		b.WriteString("\x00") // something that only the shell knows
	}
}

// program strips what stands before the name of the program that really runs (sudo, env, time …)
// and returns its name, without the folder of an absolute one, and its arguments.
func program(list []string) (name string, args []string) {
	for len(list) > 0 {
		name, args = list[0], list[1:]
		if path.IsAbs(name) {
			name = path.Base(name)
		}
		withValue, wrapper := wrappers[name]
		if !wrapper || name == "command" && len(args) > 0 && strings.EqualFold(args[0], "-v") {
			return name, args
		}
		list = args
		for len(list) > 0 && (strings.HasPrefix(list[0], "-") || strings.Contains(list[0], "=") || isDuration(name, list[0])) {
			takesNext := len(list) > 1 && list[0] != "--" && strings.Contains(withValue, list[0]+" ")
			list = list[1:]
			if takesNext {
				list = list[1:]
			}
		}
	}
	return name, args
}

// wrappers run the command that follows them. The value lists their options that take the next word.
var wrappers = map[string]string{
	"sudo":    "-u -g -h -p -C -D -R -T -U ",
	"doas":    "-u -C ",
	"env":     "-u -C -S ",
	"nohup":   "",
	"setsid":  "",
	"time":    "-f -o ",
	"nice":    "-n ",
	"ionice":  "-c -n ",
	"stdbuf":  "-i -o -e ",
	"timeout": "-s -k ",
	"exec":    "-a ",
	"command": "",
	"builtin": "",
	"busybox": "",
	"xargs":   "-a -d -E -I -L -n -P -s ",
}

// isDuration tells the first word of timeout that is no option.
func isDuration(wrapper, word string) bool {
	return wrapper == "timeout" && word != "" && strings.Trim(word, "0123456789.smhd") == ""
}
