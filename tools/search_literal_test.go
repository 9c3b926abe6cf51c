package tools

import (
	"regexp"
	"regexp/syntax"
	"testing"
)

func TestRequiredLiteral(t *testing.T) {
	for pattern, want := range map[string]string{
		`needle`:             "needle",
		`\bneedle\b`:         "needle",
		`.*(ab|cd)+ef`:       "ef",
		`func \(.*\) Close`:  ") Close",
		`(abc){2,}x`:         "abc",
		`(abc)*x`:            "x",
		`(abc)?`:             "",
		`abc|abd`:            "ab",
		`abc|xyz`:            "",
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
		if l := requiredLiteral(re); string(l.text) != want {
			t.Errorf("%s: %q, want %q", pattern, l.text, want)
		}
	}
}

// A line that an expression matches holds its literal.
func FuzzRequiredLiteral(f *testing.F) {
	f.Add(`(?i)\bk[s]tr(ab|cd)+x{2}`, "KſtrabCDxx")
	f.Add(`(?i)StraSSe|(é)`, "STRAẞE É")
	f.Add(`(?i)\x{212A}elvin`, "kelvin")
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
		l := requiredLiteral(parsed)
		if re.MatchString(line) && !l.in([]byte(line)) {
			t.Fatalf("%q matches %q, which lacks %q", pattern, line, l.text)
		}
	})
}
