package flags

import (
	"fmt"
	"slices"
	"strings"
)

// Strangers returns a line for each variable of the environment that begins
// with prefix and names no flag, with the nearest name. environ is as
// os.Environ returns it, known are the flags of all verbs.
func Strangers(environ []string, prefix string, known []string) []string {
	var lines []string
	for _, pair := range environ {
		variable, _, _ := strings.Cut(pair, "=")
		name, ours := strings.CutPrefix(variable, prefix+"_")
		name = strings.ToLower(name)
		if !ours || slices.Contains(known, name) && variable == strings.ToUpper(variable) {
			continue
		}
		line := fmt.Sprintf("the variable %s sets no flag", variable)
		if near := Nearest(name, known); near != "" {
			line += fmt.Sprintf("; did you mean %s_%s?", prefix, strings.ToUpper(near))
		}
		lines = append(lines, line)
	}
	return lines
}
