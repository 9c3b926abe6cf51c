package tools

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// globMatch says whether a slash-separated name fits a pattern in which * and ? stay within one
// element, [...] is a class of characters, \ takes the meaning from what follows, and an element
// that is ** stands for any number of elements; at the end for at least one. A pattern with an
// open class fits nothing.
func globMatch(pattern, name string) bool {
	return matchElements(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

// matchElements goes back to the latest ** alone, so that its time is bounded by the product of
// the lengths.
func matchElements(pattern, name []string) bool {
	p, n := 0, 0
	resume, from := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			if p == len(pattern)-1 {
				return true
			}
			p++
			resume, from = p, n
		case p < len(pattern) && matchElement(pattern[p], name[n]):
			p, n = p+1, n+1
		case resume >= 0:
			from++
			p, n = resume, from
		default:
			return false
		}
	}
	return p == len(pattern)
}

// matchElement matches one element, going back to the latest * alone.
func matchElement(pattern, name string) bool {
	resume, from := "", -1
	rest := name
	for {
		if strings.HasPrefix(pattern, "*") {
			pattern = pattern[1:]
			resume, from = pattern, len(name)-len(rest)
			continue
		}
		if rest == "" {
			return pattern == ""
		}
		r, size := utf8.DecodeRuneInString(rest)
		if after, ok := matchOne(pattern, r); ok {
			pattern, rest = after, rest[size:]
			continue
		}
		if from < 0 {
			return false
		}
		_, size = utf8.DecodeRuneInString(name[from:])
		from += size
		pattern, rest = resume, name[from:]
	}
}

// matchOne matches one character against the beginning of a pattern and returns what follows of
// the pattern.
func matchOne(pattern string, r rune) (after string, ok bool) {
	if pattern == "" {
		return "", false
	}
	switch pattern[0] {
	case '?':
		return pattern[1:], true
	case '[':
		in, after, closed := matchClass(pattern[1:], r)
		return after, closed && in
	case '\\':
		pattern = pattern[1:]
	}
	want, size := utf8.DecodeRuneInString(pattern)
	return pattern[size:], size > 0 && want == r
}

// matchClass matches a character against a class, given without its opening bracket.
func matchClass(class string, r rune) (in bool, after string, closed bool) {
	negated := class != "" && (class[0] == '!' || class[0] == '^')
	if negated {
		class = class[1:]
	}
	for first := true; class != ""; first = false {
		if class[0] == ']' && !first {
			return in != negated, class[1:], true
		}
		if named, rest, ok := namedClass(class); ok {
			in = in || named(r)
			class = rest
			continue
		}
		low, rest := classRune(class)
		high := low
		if len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			high, rest = classRune(rest[1:])
		}
		in = in || low <= r && r <= high
		class = rest
	}
	return false, "", false
}

func classRune(class string) (rune, string) {
	if len(class) > 1 && class[0] == '\\' {
		class = class[1:]
	}
	r, size := utf8.DecodeRuneInString(class)
	return r, class[size:]
}

// namedClass reads a class such as [:alpha:] at the beginning.
func namedClass(class string) (func(rune) bool, string, bool) {
	name, ok := strings.CutPrefix(class, "[:")
	if !ok {
		return nil, "", false
	}
	name, after, ok := strings.Cut(name, ":]")
	named := map[string]func(rune) bool{
		"alpha": unicode.IsLetter, "digit": unicode.IsDigit, "lower": unicode.IsLower, "upper": unicode.IsUpper,
		"space": unicode.IsSpace, "punct": unicode.IsPunct,
		"alnum":  func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) },
		"xdigit": func(r rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF", r) },
	}[name]
	return named, after, ok && named != nil
}

// isLiteral says that a pattern matches nothing but itself.
func isLiteral(pattern string) bool { return !strings.ContainsAny(pattern, `*?[\`) }

var errOpenClass = errors.New("a [ without its ]")

// checkGlob finds the mistake in a pattern that would make it fit nothing.
func checkGlob(pattern string) error {
	for pattern != "" {
		switch pattern[0] {
		case '[':
			_, after, closed := matchClass(pattern[1:], 0)
			if !closed {
				return errOpenClass
			}
			pattern = after
		case '\\':
			pattern = pattern[min(2, len(pattern)):]
		default:
			pattern = pattern[1:]
		}
	}
	return nil
}

// expandBraces writes out the alternatives of a pattern: *.{c,h} becomes *.c and *.h. Braces that
// do not pair, or that would give more than most patterns, stay as they are.
func expandBraces(pattern string) []string {
	const most = 64
	done, open := []string(nil), []string{pattern}
	for len(open) > 0 && len(open)+len(done) <= most {
		p := open[0]
		open = open[1:]
		before, choices, after, ok := cutBraces(p)
		if !ok {
			done = append(done, p)
			continue
		}
		for _, choice := range choices {
			open = append(open, before+choice+after)
		}
	}
	if len(open) > 0 {
		return []string{pattern}
	}
	slices.Sort(done)
	return slices.Compact(done)
}

// cutBraces finds the first pair of braces with a comma in it.
func cutBraces(pattern string) (before string, choices []string, after string, ok bool) {
	var commas []int
	depth, begin := 0, 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				begin, commas = i, nil
			}
			depth++
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth == 1 && len(commas) > 0 {
				from := begin + 1
				for _, at := range append(commas, i) {
					choices = append(choices, pattern[from:at])
					from = at + 1
				}
				return pattern[:begin], choices, pattern[i+1:], true
			}
			depth = max(0, depth-1)
		}
	}
	return "", nil, "", false
}
