package simulated

import (
	"fmt"
	"strconv"
	"strings"
)

// stub is a prompt in the manner of HumanEval: Python that ends in a function
// without a body.
type stub struct {
	code       string
	name       string
	parameters []string
	indent     string
}

// longestStub is how many bytes of Python are taken for a stub.
const longestStub = 64 << 10

var (
	definition = lazy(`(?m)^([ \t]*)def ([A-Za-z_]\w*)\(`)
	tested     = lazy(`failed=(\d+), attempted=(\d+)`)
)

func findStub(prompt string) task {
	if len(prompt) > longestStub || !strings.Contains(prompt, "def ") {
		return nil
	}
	prompt = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(prompt, " \t\n"), "```"), " \t\n")
	found := definition().FindAllStringSubmatchIndex(prompt, -1)
	if len(found) == 0 || !endsOpen(prompt) {
		return nil
	}
	last := found[len(found)-1]
	s := stub{code: prompt + "\n", name: prompt[last[4]:last[5]], indent: prompt[last[2]:last[3]] + "    "}
	if begin := found[0][0]; !onlyPython(prompt[:begin]) {
		s.code = s.code[begin:]
	}
	s.parameters = parameters(prompt[last[1]:])
	return s.play
}

// endsOpen reports whether code ends where a body has to follow: after a
// docstring or a head.
func endsOpen(code string) bool {
	return strings.HasSuffix(code, `"""`) || strings.HasSuffix(code, "'''") || strings.HasSuffix(code, ":")
}

// onlyPython reports whether what stands before the first function is code, as
// far as one can see: no sentence of the prompt's author.
func onlyPython(head string) bool {
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		code := line == "" || line[0] == '#' || line[0] == '@' || strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "from ") || strings.Contains(line, " = ")
		if !code {
			return false
		}
	}
	return true
}

// parameters are the names in a definition's list, which begins after "(".
func parameters(list string) (names []string) {
	depth, begin := 0, 0
	for i, c := range []byte(list) {
		switch {
		case c == '(' || c == '[' || c == '{':
			depth++
		case depth == 0 && (c == ',' || c == ')'):
			name, _, _ := strings.Cut(list[begin:i], ":")
			name, _, _ = strings.Cut(name, "=")
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
			begin = i + 1
			if c == ')' {
				return names
			}
		case c == ')' || c == ']' || c == '}':
			depth--
		}
	}
	return names
}

func (s stub) play(r *replay) answer {
	file := s.name + ".py"
	known := solution(s.name, len(s.parameters))
	code := s.filled(known)
	thought := "I have to complete " + s.name + ". The signature and the examples are given; I know how to do this one, and its examples can test it."
	if known == "" {
		thought = "I have to complete " + s.name + ". As the embedded model I cannot work out the algorithm, but I can put the stub into a file and see that it is sound."
	}
	if trouble := r.writeFile(thought, file, code); trouble != "" {
		return untried(file, trouble, code)
	}
	if !r.offers("terminal") {
		return answer{"Nothing is offered to run it with.", s.report(known, "I wrote "+file+". There is no terminal here, so it was not run.")}
	}
	line := "python3 " + quoteShell(file)
	res := r.run("The file is written. Running it shows whether Python takes it.", line)
	return answer{"I have seen how it runs and can report.", s.report(known, "I wrote "+file+". "+verdict(line, res))}
}

// filled is the stub with a body, and with its examples as a test if the body
// is more than a placeholder.
func (s stub) filled(known string) string {
	if known == "" {
		return s.code + s.indent + "raise NotImplementedError(\"" + s.name + "\")\n"
	}
	names := []string{"n"}
	if len(s.parameters) == 2 {
		names = []string{"a", "b"}
	}
	var renamed string
	for i, name := range names {
		if i < len(s.parameters) && s.parameters[i] != name {
			renamed += name + " = " + s.parameters[i] + "\n"
		}
	}
	return s.code + indent(renamed+known, s.indent) + "\n\nif __name__ == \"__main__\":\n    import doctest\n\n    print(doctest.testmod())\n"
}

// report adds what is missing.
func (s stub) report(known, text string) string {
	if known == "" {
		text += " The body of " + s.name + " is left open: the embedded simulated model does not invent algorithms."
	}
	return text
}

// verdict tells how a stub ran.
func verdict(line string, res result) string {
	switch why := res.failure(); {
	case why != "":
		return "It could not be run: " + why
	case res.fields.ExitCode == notFound:
		return "Python is not installed here, so it was not run."
	case res.fields.ExitCode != 0:
		return outcome(line, res)
	}
	m := tested().FindStringSubmatch(res.fields.Output)
	if m == nil || m[2] == "0" {
		return "Python takes it without an error."
	}
	failed, _ := strconv.Atoi(m[1])
	attempted, _ := strconv.Atoi(m[2])
	return fmt.Sprintf("%d of %s in its text came out right.", attempted-failed, amount(attempted, "example"))
}
