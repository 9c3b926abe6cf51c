package simulated

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPromptsAreSolvedWithTheToolsAtHand(t *testing.T) {
	for _, c := range []struct {
		prompt string
		tools  string // offered; "all" for the usual ones
		calls  string // a turn each
		answer string // part of the answer
	}{
		{"17*23", "all", "calculator", "= 391"},
		{"What is 17 * 23?", "", "", "= 391"},
		{"What is 10 / 4?", "terminal", "", "= 2.5"},
		{"What is `6 * 7`?", "all", "calculator", "= 42"},
		{"What is 2+2, 3*3 and 10 - 4?", "all", "calculator calculator calculator", "10 - 4 = 6"},
		{"Add 17 to 25.", "all", "calculator", "= 42"},
		{"Subtract 8 from 50, then double the result and then square it.", "all", "calculator, calculator, calculator", "The result is 7056."},
		{"What is the sum of the numbers from 5 to 8?", "all", "calculator", "= 26"},
		{"What is the product of 6, 7 and 10?", "all", "calculator", "= 420"},
		{"How much is seven percent, i.e. 7% of 300?", "all", "calculator", "= 21"},
		{"What is 1 / 0?", "all", "calculator", "division by zero"},
		{"Compute 6 * 7 and write the result to sub/answer.txt.", "terminal calculator", "calculator, terminal, terminal", "written to sub/answer.txt"},
		{"Compute 6 * 7 and write the result to answer.txt.", "calculator", "calculator", "could not be written"},
		{"Run `exit 3`.", "all", "terminal", "exit status 3"},
		{"Run `no-such-program -v`.", "all", "terminal, terminal", "exit status 127"},
		{"Run `echo one` and then run `echo two`.", "all", "terminal, terminal", "printed: two"},
		{"Run `echo one`.", "read_file", "", "No terminal is offered"},
		{"Which files are in this folder?", "all", "terminal", "ls -1A"},
		{"Create a.txt that says 'x'.", "terminal", "terminal, terminal", "a.txt now reads:\nx"},
		{"Create a.txt that says 'x'.", "write_file", "write_file", "Created a.txt."},
		{"Create a.txt that says 'x'.", "", "", "none is offered"},
		{"Create a.txt that says 'it''s don't'.", "all", "write_file, read_file", "don't"},
		{"Read old.txt.", "all", "read_file", "old.txt now reads:\nfirst\nsecond"},
		{"Read old.txt.", "terminal", "terminal", "old.txt now reads:\nfirst\nsecond"},
		{"In old.txt, change 'first' to 'last'.", "all", "read_file, write_file, read_file", "last\nsecond"},
		{"In old.txt, replace first with last", "terminal", "terminal, terminal, terminal", "last\nsecond"},
		{"Replace 'nothing' with 'all' in old.txt.", "all", "read_file", "does not contain “nothing”"},
		{"Remove the line 'first' from old.txt.", "all", "read_file, write_file, read_file", "now reads:\nsecond"},
		{"Append the line \"third\" to old.txt and count its lines.", "all", "read_file, write_file, terminal", "has 3 lines"},
		{"How many words does old.txt have?", "read_file", "read_file", "has 2 words"},
		{"What is the last line of old.txt?", "all", "read_file", "“second”"},
		{"Copy old.txt to new.txt.", "all", "terminal, read_file", "new.txt now reads:\nfirst"},
		{"Rename old.txt to new.txt, then read it.", "all", "terminal, read_file", "new.txt now reads:\nfirst"},
		{"Delete old.txt and list the files.", "all", "terminal, terminal", "Deleted old.txt"},
		{"Make sure that old.txt holds no blank lines.", "all", "", "I cannot answer this"},
		{"Write the third column of old.txt to new.txt.", "all", "", "I cannot answer this"},
		{"Remove all blank lines from old.txt.", "all", "", "I cannot answer this"},
		{"Delete it all, old.txt included.", "all", "", "I cannot answer this"},
		{"Write a script that counts the lines of old.txt.", "all", "write_file, terminal", "task.sh"},
		{"Create new.txt. Write 'x' into it.", "all", "write_file, write_file, read_file", "new.txt now reads:\nx"},
		{"Copy none.txt to new.txt.", "all", "terminal", "failed"},
		{"Change 'a' to 'b' in none.txt.", "all", "read_file, terminal", "The folder holds old.txt"},
		{"Write a script that counts down from 3 and run it.", "all", "write_file, terminal", "3\n2\n1\n0"},
		{"Write a script that counts down from 3 and run it.", "terminal", "terminal, terminal", "3\n2\n1\n0"},
		{"Write a script that counts down from 3 and run it.", "write_file", "write_file", "it was not run"},
		{"Write a script that counts down from 3.", "", "", "while"},
		{"Write a program that finds the gcd of 48 and 36.", "all", "write_file, terminal", "printed: 12"},
		{"Write a program that bakes bread.", "all", "write_file, terminal", "left open"},
		{"Write a script greet.sh that prints \"it's 5 o'clock\".", "all", "write_file, terminal", "printed: it's 5 o'clock"},
		{"Write a Python function that computes the gcd of 48 and 36.", "all", "write_file, terminal, write_file, terminal", "printed: 12"},
		{"def f(x):\n    \"\"\"Do it.\"\"\"\n", "", "", "raise NotImplementedError"},
		{"def f(x):\n    \"\"\"Do it.\"\"\"\n", "write_file", "write_file", "left open"},
		{"Explain this:\ndef f(x):\n    return 1\n", "all", "", "I cannot answer this"},
		{"Go to https://example.org/a.html and read it.", "all", "", "I cannot answer this"},
		{"Who wrote Faust?", "", "", "No tools were offered"},
		{"", "all", "", "Ask me something"},
	} {
		t.Run(firstLine(c.prompt, 40)+" "+c.tools, func(t *testing.T) {
			tools := strings.Fields(c.tools)
			if c.tools == "all" {
				tools = allTools
			}
			talk := converse(t, c.prompt, tools...)
			if err := os.WriteFile(filepath.Join(talk.folder, "old.txt"), []byte("first\nsecond\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			talk.run(10)
			if got := talk.calls(); got != c.calls {
				t.Errorf("calls %q, want %q", got, c.calls)
			}
			if !strings.Contains(talk.answer(), c.answer) {
				t.Errorf("answer %q, want %q in it", talk.answer(), c.answer)
			}
		})
	}
}

func TestOnlyOfferedToolsAreCalled(t *testing.T) {
	rows, _ := demoRows(t)
	for n := range 1 << len(allTools) {
		var tools []string
		for i, name := range allTools {
			if n>>i&1 == 1 {
				tools = append(tools, name)
			}
		}
		for _, r := range rows {
			prompt := r.Prompt.(string)
			if strings.Contains(prompt, "[unknown-tool]") {
				continue
			}
			for _, m := range converse(t, prompt, tools...).can().run(6).replies {
				for _, call := range m.ToolCalls {
					if !slices.Contains(tools, call.Function.Name) {
						t.Errorf("%q with %v: called %s", prompt, tools, call.Function.Name)
					}
				}
			}
		}
	}
}

func TestFirstTurnsAndMostOthersReason(t *testing.T) {
	rows, _ := demoRows(t)
	turns, reasoned := 0, 0
	for _, r := range rows {
		prompt := r.Prompt.(string)
		for i, m := range converse(t, prompt, allTools...).can().run(10).replies {
			turns++
			if m.Reasoning != "" {
				reasoned++
			} else if i == 0 && !strings.Contains(prompt, "[no-reasoning]") {
				t.Errorf("%q: no reasoning in the first turn", prompt)
			}
		}
	}
	if reasoned*10 < turns*7 || reasoned == turns {
		t.Errorf("%d of %d turns reason", reasoned, turns)
	}
}

func TestFailedToolsAreNotTakenForResults(t *testing.T) {
	for prompt, want := range map[string]string{
		"What is 6 * 7?":             "could not work out",
		"What is 2 ** 3?":            "could not work out",
		"Run `echo hi`.":             "the sandbox is gone",
		"Read a.txt.":                "could not read a.txt",
		"Create a.txt that says 'x'": "could not be written",
		"Write a script that counts down from 3 and run it.": "was not run",
		"def add(a, b):\n    \"\"\"Add.\"\"\"\n":             "was not run",
	} {
		for _, broken := range []string{`{"error": "the sandbox is gone"}`, "Error: the sandbox is gone"} {
			c := converse(t, prompt, allTools...)
			for range 6 {
				m := c.step()
				for _, call := range m.ToolCalls {
					c.messages = append(c.messages, map[string]any{"role": "tool", "tool_call_id": call.ID, "content": broken})
				}
				if len(m.ToolCalls) == 0 {
					break
				}
			}
			if !strings.Contains(c.answer(), want) {
				t.Errorf("%q: answered %q after %s", prompt, c.answer(), c.calls())
			}
		}
	}
}

func TestLongFilesAreNotRewritten(t *testing.T) {
	c := converse(t, "In a.txt, replace 'x' with 'y'.", allTools...)
	m := c.step()
	c.messages = append(c.messages, map[string]any{"role": "tool", "tool_call_id": m.ToolCalls[0].ID,
		"content": `{"content": "1|x\n2|x", "total_lines": 9000, "truncated": true}`})
	if c.run(5); c.calls() != "read_file" || !strings.Contains(c.answer(), "too long") {
		t.Errorf("calls %s, answer %s", c.calls(), c.answer())
	}
}

func TestScriptsThatFailAreTraced(t *testing.T) {
	c := converse(t, "Write a script that counts down from 3 and run it.", allTools...)
	for _, content := range []string{`{"bytes_written": 9}`, `{"output": "", "exit_code": 2, "error": null}`, `{"output": "+ oops", "exit_code": 0, "error": null}`} {
		m := c.step()
		c.messages = append(c.messages, map[string]any{"role": "tool", "tool_call_id": m.ToolCalls[0].ID, "content": content})
	}
	if c.run(1); c.calls() != "write_file, terminal, terminal" || !strings.Contains(c.answer(), "exit status 2.\n+ oops") {
		t.Errorf("calls %s, answer %s", c.calls(), c.answer())
	}
}

func TestStubsAreFilled(t *testing.T) {
	for _, c := range []struct{ prompt, file, want string }{
		{"from typing import List\n\n\ndef max_element(l: List[int]) -> int:\n    \"\"\"Largest.\"\"\"\n", "max_element.py", "    n = l\n    return max(n)\n\n\nif __name__"},
		{"class A:\n    def add(self, b):\n        \"\"\"Sum.\"\"\"", "add.py", "        a = self\n        return a + b\n"},
		{"Complete this:\n```python\ndef gcd(a: int, b: int = 1) -> int:\n    ''' Divisor. '''\n```", "gcd.py", "    while b:\n"},
		{"def f(xs: Dict[str, int], g=(1, 2)):\n    \"\"\"Do it.\"\"\"\n\n", "f.py", "    raise NotImplementedError(\"f\")\n"},
	} {
		talk := converse(t, c.prompt, allTools...).run(5)
		data, err := os.ReadFile(filepath.Join(talk.folder, c.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if code := string(data); !strings.Contains(code, c.want) || strings.Contains(code, "```") || strings.Contains(code, "Complete") {
			t.Errorf("%s holds %q", c.file, code)
		}
	}
}

func TestParametersAreRead(t *testing.T) {
	for list, want := range map[string]string{
		"):":                                "[]",
		"a, b):":                            "[a b]",
		"xs: Dict[str, int], g=(1, 2)) -> ": "[xs g]",
		"a: int = 3, *rest, **more): ":      "[a *rest **more]",
		"a, b":                              "[a]",
	} {
		if got := fmt.Sprint(parameters(list)); got != want {
			t.Errorf("%q: %s, want %s", list, got, want)
		}
	}
}
