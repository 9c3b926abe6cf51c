package tools

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

func TestRequiredLiteral(t *testing.T) {
	for pattern, want := range map[string]string{
		`needle`:                         "needle",
		`\bneedle\b`:                     "needle",
		`.*(ab|cd)+ef`:                   "ef",
		`func \(.*\) Close`:              ") Close",
		`(abc){2,}x`:                     "abc",
		`(abc)*x`:                        "x",
		`(abc)?`:                         "",
		`abc|abd`:                        "ab",
		`abc|xyz`:                        "abc xyz",
		`(abc|xyz)defg`:                  "defg",
		`(abcd|xyzw)def`:                 "abcd xyzw",
		`(?i)err|warn:`:                  "err warn:",
		`abc|x*`:                         "",
		`abc|`:                           "",
		`TODO|FIXME|[A-Z]+:`:             "TODO FIXME :",
		strings.Repeat("ab|", 16) + "cd": "ab cd",
		"a0|b1|c2|d3|e4|f5|g6|h7|i8|j9|k0|l1|m2|n3|o4|p5":    "a0 b1 c2 d3 e4 f5 g6 h7 i8 j9 k0 l1 m2 n3 o4 p5",
		"a0|b1|c2|d3|e4|f5|g6|h7|i8|j9|k0|l1|m2|n3|o4|p5|q6": "",
		`[a-z]+`:             "",
		`^$`:                 "",
		`(?i)NeedLe`:         "needle",
		`(?i)class name`:     " name",
		`(?i)kss`:            "",
		`(?i:ab)CDE`:         "CDE",
		`\p{Greek}(?i)ΣΟΦΙΑ`: "",
		`źdźbło`:             "źdźbło",
	} {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range requiredLiterals(re) {
			got = append(got, string(l.text))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %q, want %q", pattern, text, want)
		}
	}
}

// A line that an expression matches holds its literal.
func FuzzRequiredLiteral(f *testing.F) {
	f.Add(`(?i)\bk[s]tr(ab|cd)+x{2}`, "KſtrabCDxx")
	f.Add(`(?i)StraSSe|(é)`, "STRAẞE É")
	f.Add(`(?i)\x{212A}elvin`, "kelvin")
	f.Add(`a\x{FFFD}b`, "a\xffb")
	f.Add(`T(?i)ODO|fix(me|it)|x+y`, "Todo")
	f.Add(`(?i:ab)(?-i)c+`, "ABc")
	f.Fuzz(func(t *testing.T, pattern, line string) {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil || len(pattern) > 200 {
			return
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		must := requiredLiterals(parsed)
		if re.MatchString(line) && must.index([]byte(line)) < 0 {
			t.Fatalf("%q matches %q, which lacks %+v", pattern, line, must)
		}
	})
}
