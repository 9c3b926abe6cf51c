package tools

import "strings"

// ignoreRule is one line of a gitignore file.
type ignoreRule struct {
	elements []string // the pattern, cut at its slashes
	rooted   bool     // matches the path from the file's folder on, not a name at any depth
	folder   bool     // matches folders only
	keep     bool     // takes back what earlier rules ignored
	literal  bool     // of one element without any special character
}

// ignoreList holds the rules of one folder's gitignore file, for what lies in it at any depth.
type ignoreList struct {
	dir   string // clean name of the folder
	rules []ignoreRule
}

// parseIgnore reads a gitignore file.
func parseIgnore(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.Lines(strings.TrimPrefix(text, string(byteOrderMark))) {
		if r, ok := parseIgnoreLine(strings.TrimRight(line, "\r\n")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseIgnoreLine(line string) (ignoreRule, bool) {
	line = trimUnescapedBlanks(line)
	if line == "" || line[0] == '#' {
		return ignoreRule{}, false
	}
	var r ignoreRule
	line, r.keep = strings.CutPrefix(line, "!")
	line, r.folder = strings.CutSuffix(line, "/")
	r.rooted = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return ignoreRule{}, false
	}
	r.elements = strings.Split(line, "/")
	r.literal = len(r.elements) == 1 && isLiteral(line)
	return r, true
}

// trimUnescapedBlanks drops blanks at the end, unless a backslash keeps them.
func trimUnescapedBlanks(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
		case '\\':
			i++
			end = i + 1
		default:
			end = i + 1
		}
	}
	return line[:min(end, len(line))]
}

// matches says whether a rule speaks of a name, given from the rule's folder on.
func (r ignoreRule) matches(elements []string, folder bool) bool {
	if r.folder && !folder {
		return false
	}
	name := elements[len(elements)-1]
	switch {
	case r.rooted:
		return matchElements(r.elements, elements)
	case r.literal:
		return r.elements[0] == name
	}
	return matchElement(r.elements[0], name)
}

// ignored says whether the lists, from the outermost folder's to the innermost one's, ignore a
// clean name. The last rule that speaks of it decides. That a folder above it is ignored is the
// caller's to know.
func ignored(lists []ignoreList, name string, folder bool) bool {
	for i := len(lists) - 1; i >= 0; i-- {
		list := lists[i]
		inside := strings.TrimPrefix(strings.TrimPrefix(name, list.dir), "/")
		elements := strings.Split(inside, "/")
		for j := len(list.rules) - 1; j >= 0; j-- {
			if rule := list.rules[j]; rule.matches(elements, folder) {
				return !rule.keep
			}
		}
	}
	return false
}
