package tools

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	want := strings.Fields(`browser_back browser_cdp browser_click browser_console browser_dialog browser_get_images
		browser_navigate browser_press browser_scroll browser_snapshot browser_type browser_vision calculator execute_code
		image_generate mixture_of_agents patch process read_file search_files terminal text_to_speech todo vision_analyze
		web_extract web_search write_file`)
	if got := Names(); !slices.Equal(got, want) || len(got) != 27 {
		t.Errorf("got %d: %v", len(got), got)
	}
	for _, name := range want {
		if !Exists(name) {
			t.Errorf("%s does not exist", name)
		}
	}
	for _, name := range []string{"", "Terminal", "web", "python"} {
		if Exists(name) {
			t.Errorf("%q exists", name)
		}
	}
}

func TestEveryToolHasItsToolset(t *testing.T) {
	offered := 0
	for _, set := range Toolsets() {
		offered += len(set.Tools)
		if (set.Lacks() == "") != (len(set.Tools) > 0) {
			t.Errorf("%s has %d tools and lacks %q", set.Name, len(set.Tools), set.Lacks())
		}
	}
	if offered != len(builtin) {
		t.Errorf("%d of %d tools are in a toolset", offered, len(builtin))
	}
}

func TestCatalogue(t *testing.T) {
	for _, c := range []struct{ drawn, sets, tools string }{
		{"terminal file calculator", "terminal file calculator", "calculator patch process read_file search_files terminal write_file"},
		{"file terminal", "file terminal", "patch process read_file search_files terminal write_file"},
		{"web terminal browser", "terminal", "process terminal"},
		{"web vision", "", ""},
		{"terminal terminal", "terminal", "process terminal"},
		{"nonsense calculator", "calculator", "calculator"},
		{"", "", ""},
	} {
		offer := Catalogue(strings.Fields(c.drawn), Toolsets())
		if got := strings.Join(offer.Toolsets, " "); got != c.sets {
			t.Errorf("%s: toolsets %q, want %q", c.drawn, got, c.sets)
		}
		if got := strings.Join(offer.Names(), " "); got != c.tools {
			t.Errorf("%s: tools %q, want %q", c.drawn, got, c.tools)
		}
		if (offer.Definitions() == nil) != (c.tools == "") {
			t.Errorf("%s: definitions %s", c.drawn, offer.Definitions())
		}
	}
}

// A tool of two toolsets is offered once, and sets may come from outside.
func TestCatalogueOfOtherSets(t *testing.T) {
	search := probe{spec: Spec{Name: "web_search"}}
	sets := Toolsets()
	for i, s := range sets {
		if s.Name == "web" || s.Name == "search" {
			sets[i].Tools = append(s.Tools, search)
		}
	}
	sets = append(sets, Toolset{Name: "weather", Tools: []Tool{probe{spec: Spec{Name: "forecast"}}}})
	offer := Catalogue([]string{"search", "weather", "web"}, sets)
	if got := strings.Join(append(offer.Toolsets, offer.Names()...), " "); got != "search weather web forecast web_search" {
		t.Errorf("got %s", got)
	}
	if got := Catalogue([]string{"web"}, Toolsets()); len(got.Tools) != 0 {
		t.Errorf("the built-in sets changed: %v", got.Names())
	}
}

func TestDefinitions(t *testing.T) {
	definitions := Catalogue([]string{"terminal", "file", "calculator"}, Toolsets()).Definitions()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, definitions, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "definitions.json", append(pretty.Bytes(), '\n'))

	// The bytes are the compact form, so that they are the same for every encoder.
	var compact bytes.Buffer
	if err := json.Compact(&compact, definitions); err != nil || compact.String() != string(definitions) {
		t.Errorf("not compact: %s", definitions)
	}
	if strings.Contains(string(definitions), `\u003c`) {
		t.Error("HTML escapes in the definitions")
	}
}

func TestSpecs(t *testing.T) {
	for _, tool := range builtin {
		spec := tool.Spec()
		if !Exists(spec.Name) || spec.Description == "" {
			t.Errorf("%s: unknown name or no description", spec.Name)
		}
		if s := parseSchema(spec.Parameters); s.kind != "object" || !s.closed || len(s.properties) == 0 {
			t.Errorf("%s: schema %s", spec.Name, spec.Parameters)
		}
		if spec.State == StateNone && !spec.ReadOnly {
			t.Errorf("%s changes something that has no place", spec.Name)
		}
	}
}
