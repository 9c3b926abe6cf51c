package simulated

import (
	"fmt"
	"strings"
	"testing"
)

// found are the expressions of a prompt as the model sees them.
func found(prompt string) (list []string) {
	for _, e := range findExpressions(" " + wording.Replace(wording.Replace(strings.ToLower(prompt)))) {
		list = append(list, e.text)
	}
	return list
}

func TestExpressionsAreFoundInProse(t *testing.T) {
	for prompt, want := range map[string]string{
		"What is 17 * 23?":               "17 * 23",
		"Compute (3+4)*12 - 7.":          "(3 + 4) * 12 - 7",
		"1,250 divided by 8, or 1,25":    "1250 / 8",
		"17 x 23 and 2x + 1":             "17 * 23",
		"2 to the power of 10":           "2 ** 10",
		"2^3^2":                          "2 ** 3 ** 2",
		"(2^3)^2":                        "(2 ** 3) ** 2",
		"5 squared plus 2 cubed":         "5 ** 2 + 2 ** 3",
		"the square root of 144 plus 1":  "sqrt(144) + 1",
		"√2 and sqrt((3 + 1) * (2 + 2))": "sqrt(2)|sqrt((3 + 1) * (2 + 2))",
		"sqrt(sqrt(16))":                 "sqrt(sqrt(16))",
		"15% of 240":                     "15 * 240 / 100",
		"17 % 5 or 17%5":                 "17 % 5|17 % 5",
		"200 + 10%":                      "200 + 10 / 100",
		"-3 - -4":                        "-3 - -4",
		"2 ** -1":                        "2 ** (-1)",
		"8 - (3 - 2)":                    "8 - (3 - 2)",
		"((1 + 2))":                      "(1 + 2)",
		"3 + and 4 *":                    "",
		"3.5 + 1.25 = ?":                 "3.5 + 1.25",
		"12 ÷ 4 × 2 − 1":                 "12 / 4 * 2 - 1",
		"on 2024-12-25 at 10:30":         "",
		"version v1.2-3, file2-1, the 3rd - 2 days": "",
		"call 007 - 5":          "",
		"a-5 + 2":               "5 + 2",
		"7 times, many times 3": "",
		"(1 + 2":                "1 + 2",
		strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200): "",
		"1" + strings.Repeat("+1", 2):                             "1 + 1 + 1",
		"":                                                        "",
	} {
		if got := strings.Join(found(prompt), "|"); got != want {
			t.Errorf("%.60q: found %q, want %q", prompt, got, want)
		}
	}
}

func TestExpressionsAreWorkedOutInTheHead(t *testing.T) {
	for text, want := range map[string]string{
		"17 * 23": "391", "1 / 3": "0.333333333333", "2 ** 10": "1024", "2 ** 3 ** 2": "512", "-2 ** 2": "-4", "17 % 5": "2",
		"sqrt(2)": "1.41421356237", "1 / 0": "undefined", "sqrt(-1)": "undefined", "10 - 4 - 3": "3", "x": "undefined",
	} {
		if got := inHead(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func FuzzExpressions(f *testing.F) {
	for _, seed := range []string{"What is 17 * 23?", "15% of (3 - 1)", "sqrt sqrt(((", "1,000,000 - 5%", "-----1", "2**2**2", "5%(5%(5%(", "½ × 2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		for _, text := range found(prompt) {
			again, ok := scanner{text}.binary(0, sums, 0)
			if !ok || again.text != text || again.end != len(text) {
				t.Fatalf("%q gives %q, which reads as %q", prompt, text, again.text)
			}
		}
	})
}

func TestFileNamesAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"Read notes.txt.":               "[notes.txt]",
		"a.tar.gz and ./b/c-d_e.py, x.": "[a.tar.gz ./b/c-d_e.py]",
		"in grüße.txt: e.g. 3.14":       "[grüße.txt]",
		"wait...and .hidden v1.2":       "[]",
		"-rf.txt and /etc/hosts.bak":    "[rf.txt /etc/hosts.bak]",
		"end.":                          "[]",
		"data.2024":                     "[]",
		"one.two.three.four":            "[one.two.three.four]",
		"a.txt a.txt":                   "[a.txt]",
	} {
		if got := fmt.Sprint((&prose{}).files(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestQuotationsAreToldFromWords(t *testing.T) {
	for prompt, want := range map[string]string{
		`Say 'a' and "b c".`:           `["a" "b c"]`,
		"Don't say `x y`, it's 'it's'": "[\"x y\" \"it's\"]",
		"“one” and ‘two’ and «three»":  `["one" "two" "three"]`,
		"```sh\nls -l\n```":            `["ls -l"]`,
		"read 'a.txt' and `b.txt`":     "[]",
		"an open ' quote":              "[]",
		"":                             "[]",
	} {
		texts := []string{}
		for _, q := range readProse(prompt).quotes {
			texts = append(texts, q.text)
		}
		if got := fmt.Sprintf("%q", texts); got != want {
			t.Errorf("%q: %s, want %s", prompt, got, want)
		}
	}
}

func FuzzPlan(f *testing.F) {
	rows, _ := demoRows(f)
	for _, r := range rows {
		f.Add(r.Prompt.(string))
	}
	f.Add("Write `a` to \x01\x02 a.b 'c")
	f.Fuzz(func(t *testing.T, prompt string) {
		r := &request{prompt: prompt, offered: allTools, reasoning: true}
		for range 3 {
			m := r.reply(r.key(), findMarks(prompt))
			if len(m.calls) == 0 {
				return
			}
			r.past, r.turn = append(r.past, turn{results: make([]string, len(m.calls))}), r.turn+1
		}
	})
}
