package tools

import "slices"

// Toolset is a group of tools that is drawn as one.
type Toolset struct {
	Name  string
	Names []string // its tools, implemented or not
	Tools []Tool   // those that this version has; filled by Toolsets
	needs string   // what it waits for while it has none
}

// builtin lists the tools that exist, one a line.
var builtin = []Tool{
	calculator{},
	patch{},
	process{},
	readFile{},
	searchFiles{},
	terminal{},
	writeFile{},
}

// toolsets lists the toolsets in the order in which they are drawn and shown.
var toolsets = []Toolset{
	{Name: "web", Names: []string{"web_search", "web_extract"}, needs: "a search service"},
	{Name: "vision", Names: []string{"vision_analyze"}, needs: "a model that takes pictures"},
	{Name: "image_gen", Names: []string{"image_generate"}, needs: "an image generation service"},
	{Name: "terminal", Names: []string{"terminal", "process"}},
	{Name: "file", Names: []string{"read_file", "write_file", "patch", "search_files"}},
	{Name: "moa", Names: []string{"mixture_of_agents"}, needs: "several models to ask at once"},
	{Name: "browser", Names: []string{
		"browser_navigate", "browser_snapshot", "browser_click", "browser_type",
		"browser_scroll", "browser_back", "browser_press", "browser_get_images",
		"browser_vision", "browser_console", "browser_cdp", "browser_dialog",
	}, needs: "a Chromium to drive"},
	{Name: "calculator", Names: []string{"calculator"}},
	{Name: "search", Names: []string{"web_search"}, needs: "a search service"},
	{Name: "code_execution", Names: []string{"execute_code"}, needs: "a way for scripts to call the session's tools"},
	{Name: "todo", Names: []string{"todo"}, needs: "a task list kept with the session"},
	{Name: "tts", Names: []string{"text_to_speech"}, needs: "a speech service"},
}

// Toolsets returns the built-in toolsets in table order, each with the tools that this version
// has. The caller may append sets of its own, and tools to a set, before it asks for a Catalogue.
func Toolsets() []Toolset {
	sets := slices.Clone(toolsets)
	for i, set := range sets {
		for _, t := range builtin {
			if slices.Contains(set.Names, t.Spec().Name) {
				sets[i].Tools = append(sets[i].Tools, t)
			}
		}
	}
	return sets
}

// Lacks is empty for a toolset that offers a tool, and says what is missing otherwise.
func (s Toolset) Lacks() string {
	switch {
	case len(s.Tools) > 0:
		return ""
	case s.needs == "":
		return "tools"
	default:
		return s.needs
	}
}
