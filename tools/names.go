package tools

import "slices"

// Names returns the name of every built-in tool, sorted, whether this version implements it or
// not: statistics have a column for each from the first row on.
func Names() []string {
	var names []string
	for _, set := range toolsets {
		names = append(names, set.Names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Exists says whether a built-in tool has that name, implemented or not.
func Exists(name string) bool {
	return slices.ContainsFunc(toolsets, func(set Toolset) bool { return slices.Contains(set.Names, name) })
}
