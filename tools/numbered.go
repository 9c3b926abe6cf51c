package tools

import (
	"strconv"
	"strings"
)

// looksNumbered says that every line begins with its number, as read_file shows lines, and that
// the numbers go up one by one.
func looksNumbered(text string) bool {
	last := 0
	for line := range strings.Lines(text) {
		n, _, ok := cutNumber(line)
		if !ok || last > 0 && n != last+1 {
			return false
		}
		last = n
	}
	return last > 0
}

func cutNumber(line string) (number int, text string, ok bool) {
	digits, text, ok := strings.Cut(line, "|")
	number, err := strconv.Atoi(digits)
	return number, strings.TrimRight(text, "\r\n"), ok && err == nil && number > 0
}

// isNumberedCopy says that a content is not a table of its own, but what read_file shows of code:
// it is that of the old file, or it is indented.
func isNumberedCopy(content, old string) bool {
	if !looksNumbered(content) || strings.Count(strings.TrimSpace(content), "\n") == 0 || looksNumbered(old) {
		return false
	}
	before := strings.Split(newDocument(old).text, "\n")
	same, all, indented := 0, 0, false
	for line := range strings.Lines(content) {
		n, text, _ := cutNumber(line)
		all++
		if n <= len(before) && before[n-1] == text {
			same++
		}
		indented = indented || strings.HasPrefix(text, "  ") || strings.HasPrefix(text, "\t")
	}
	return indented || 2*same >= all
}
