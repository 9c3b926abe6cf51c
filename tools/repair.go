package tools

import (
	"slices"
	"strings"
	"unicode"
)

// Repair finds the offered tool that a model means by a name that no tool has: one said twice,
// with other case or signs, within a namespace, with an ending such as _tool, or with a small
// slip. It says no where another tool that exists may be meant as well, offered or not; a name of
// a tool needs no repair.
func Repair(name string, offered []string) (string, bool) {
	known := slices.Concat(offered, Names())
	if name == "" || len(name) > longestName || slices.Contains(known, name) {
		return "", false
	}
	for _, form := range nameForms(name) {
		if meant := sameLetters(form, known); len(meant) > 0 {
			return only(meant, offered)
		}
	}
	return only(nearNames(wordsOf(name), known), offered)
}

// longestName is the longest name that is looked at, in bytes.
const longestName = 200

// only returns the one name of a list if it is offered.
func only(names, offered []string) (string, bool) {
	if len(names) != 1 || !slices.Contains(offered, names[0]) {
		return "", false
	}
	return names[0], true
}

// nameForms are the names that may be inside of one, the likeliest first.
func nameForms(name string) []string {
	// What templates of some models put behind a name.
	name, _, _ = strings.Cut(name, "<|")
	forms := []string{name}
	for _, space := range []string{"functions", "function", "default_api", "tools", "tool"} {
		if rest, ok := strings.CutPrefix(name, space); ok && rest != "" && strings.ContainsRune(".:/", rune(rest[0])) {
			// Some number their calls: functions.name:0
			rest, number, _ := strings.Cut(rest[1:], ":")
			if strings.Trim(number, "0123456789") == "" {
				forms = append(forms, rest)
			}
		}
	}
	for _, form := range slices.Clone(forms) {
		l := letters(form)
		forms = append(forms, strings.TrimSuffix(l, "tool"), strings.TrimSuffix(l, "tools"), once(l))
	}
	return forms
}

// once returns what a text repeats, from its beginning to its end.
func once(text string) string {
	for n := 1; n <= len(text)/2; n++ {
		if len(text)%n == 0 && strings.Repeat(text[:n], len(text)/n) == text {
			return text[:n]
		}
	}
	return text
}

// letters drops all but letters and digits, and case.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// sameLetters returns the names that have the letters of another, each once.
func sameLetters(name string, known []string) []string {
	want := letters(name)
	var same []string
	for _, k := range known {
		if want != "" && letters(k) == want && !slices.Contains(same, k) {
			same = append(same, k)
		}
	}
	return same
}

// wordsOf cuts a name at its signs and where a capital begins a word.
func wordsOf(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// nearNames returns the names whose words are those of another but for slips.
func nearNames(words []string, known []string) []string {
	var near []string
	for _, k := range known {
		theirs := wordsOf(k)
		same := len(theirs) == len(words) && len(words) > 0
		for i := 0; same && i < len(words); i++ {
			same = isSlip(words[i], theirs[i], len(words) == 1)
		}
		if same && !slices.Contains(near, k) {
			near = append(near, k)
		}
	}
	return near
}

// isSlip says that a word is another with at most one slip, or two if they are long, or its
// plural. The first letter is never wrong, and a short word may as well be another word; more so
// if nothing stands beside it.
func isSlip(word, meant string, alone bool) bool {
	shortest, long := 3, 9
	if alone {
		shortest = 5
	}
	longer, shorter := max(len(word), len(meant)), min(len(word), len(meant))
	switch {
	case word == meant, word == meant+"s", word+"s" == meant:
		return true
	case shorter < shortest || longer < 4 || word[0] != meant[0]:
		return false
	case shorter >= long:
		return slipsBetween(word, meant) <= 2
	}
	return slipsBetween(word, meant) == 1
}

// slipsBetween is the edit distance, with two letters swapped as one slip.
func slipsBetween(a, b string) int {
	if len(a) == len(b) {
		for i := range len(a) - 1 {
			if a[i] != b[i] {
				if a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:] {
					return 1
				}
				break
			}
		}
	}
	return editDistance(a, b)
}
