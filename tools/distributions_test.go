package tools

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func distribution(t *testing.T, name string) Distribution {
	t.Helper()
	for _, d := range Distributions() {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("no distribution %s", name)
	return Distribution{}
}

// The draw is recorded and has to come out the same for ever: these were computed elsewhere.
func TestDrawVectors(t *testing.T) {
	ids := make([]byte, 32)
	for i := range ids {
		ids[i] = byte(i)
	}
	for _, c := range []struct {
		seed     int64
		identity []byte
		toolset  string
		want     float64
	}{
		{0, nil, "web", 0.2912484259307456},
		{0, []byte("prompt"), "terminal", 0.7507609365523733},
		{-1, []byte("prompt"), "terminal", 0.3011995409141309},
		{42, ids, "browser", 0.033888863895346955},
	} {
		if got := fraction(c.seed, c.identity, c.toolset); got != c.want {
			t.Errorf("%d %q %s: %v, want %v", c.seed, c.identity, c.toolset, got, c.want)
		}
	}
	for _, c := range []struct {
		name string
		id   int
		want string
	}{
		{"science", 0, "web terminal file browser"},
		{"science", 3, "web vision terminal file moa browser"},
		{"balanced", 0, "image_gen terminal file browser"},
		{"balanced", 2, "vision image_gen"},
		{"balanced", 47, "web"}, // nothing came up: the first of the most probable
		{"browser_tasks", 1, "browser"},
		{"reasoning", 0, "terminal moa"},
		{"default", 5, "web vision image_gen terminal file moa browser calculator"},
		{"local", 5, "terminal file calculator"},
	} {
		got := distribution(t, c.name).Draw(7, fmt.Appendf(nil, "identity %d", c.id))
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %d: %v, want %s", c.name, c.id, got, c.want)
		}
	}
}

// Over many prompts each toolset comes up as often as the distribution says.
func TestDrawFrequencies(t *testing.T) {
	const prompts = 20_000
	for _, d := range Distributions() {
		counts := make(map[string]int)
		for i := range prompts {
			drawn := d.Draw(1, fmt.Appendf(nil, "%d", i))
			if len(drawn) == 0 {
				t.Fatalf("%s: nothing drawn", d.Name)
			}
			for _, name := range drawn {
				counts[name]++
			}
		}
		none, likeliest := 1.0, slices.MaxFunc(d.Chances, func(a, b Chance) int { return int(a.Percent - b.Percent) })
		for _, c := range d.Chances {
			none *= 1 - c.Percent/100
		}
		for _, c := range d.Chances {
			p := c.Percent / 100
			if c.Toolset == likeliest.Toolset {
				p += none
			}
			deviation := math.Sqrt(prompts * p * (1 - p))
			if off := math.Abs(float64(counts[c.Toolset]) - prompts*p); off > 4*deviation {
				t.Errorf("%s: %s came up %d times in %d, expected %.0f ± %.0f", d.Name, c.Toolset, counts[c.Toolset], prompts, prompts*p, deviation)
			}
		}
		if len(counts) != len(d.Chances) {
			t.Errorf("%s: drew %v", d.Name, counts)
		}
	}
}

func TestDrawOfToolsetsIsIndependent(t *testing.T) {
	const prompts = 20_000
	d, both := distribution(t, "balanced"), 0
	for i := range prompts {
		drawn := d.Draw(1, fmt.Appendf(nil, "%d", i))
		if slices.Contains(drawn, "terminal") && slices.Contains(drawn, "file") {
			both++
		}
	}
	if math.Abs(float64(both)-prompts/4) > 4*math.Sqrt(prompts*3/16) {
		t.Errorf("terminal and file came up together %d times in %d", both, prompts)
	}
}

func TestDistributions(t *testing.T) {
	var names []string
	for _, d := range Distributions() {
		names = append(names, d.Name)
		for _, c := range d.Chances {
			if c.Percent <= 0 || c.Percent > 100 || !slices.ContainsFunc(Toolsets(), func(s Toolset) bool { return s.Name == c.Toolset }) {
				t.Errorf("%s: %v", d.Name, c)
			}
		}
	}
	want := strings.Fields(`default image_gen research science development safe balanced minimal terminal_only terminal_web
		creative reasoning browser_use browser_only browser_tasks terminal_tasks mixed_tasks local`)
	if !slices.Equal(names, want) {
		t.Errorf("got %v", names)
	}
}

// The fingerprint follows the content: not the name, not how a file writes it.
func TestCanonical(t *testing.T) {
	if got := string(distribution(t, "browser_tasks").Canonical()); got != `[["vision",12],["terminal",15],["browser",97]]` {
		t.Errorf("got %s", got)
	}
	ds, err := readDistributions("f", strings.NewReader(`{
		"a": {"terminal": 100, "file": 100, "calculator": 100},
		"b": {"calculator": 1e2, "web": 0, "terminal": 100.0, "file": 100},
		"c": {"file": 12.5, "terminal": 0.001}}`), Toolsets())
	if err != nil {
		t.Fatal(err)
	}
	local := string(distribution(t, "local").Canonical())
	if a, b := string(ds[0].Canonical()), string(ds[1].Canonical()); a != local || b != local {
		t.Errorf("%s, %s and %s differ", a, b, local)
	}
	if got := string(ds[2].Canonical()); got != `[["terminal",0.001],["file",12.5]]` {
		t.Errorf("got %s", got)
	}
	if got := string(Distribution{}.Canonical()); got != `[]` {
		t.Errorf("got %s", got)
	}
}

func TestLoadDistributions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(path, []byte("\uFEFF{\"mine\": {\"terminal\": 50, \"web\": 12.5},\n\"second.1\": {\"todo\": 100}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ds, err := LoadDistributions(path, Toolsets())
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(ds)
	if got != "[{mine  [{web 12.5} {terminal 50}]} {second.1  [{todo 100}]}]" {
		t.Errorf("got %s", got)
	}
	if _, err := LoadDistributions(path+".missing", Toolsets()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestBadDistributionFile(t *testing.T) {
	for content, want := range map[string]string{
		``:                                    `is not a JSON object`,
		`[]`:                                  `is not a JSON object`,
		`{"a": {"web": 1}`:                    `is not a JSON object`,
		`{"a": {"web": 1}} x`:                 `is not a JSON object`,
		`{"a": {"web": NaN}}`:                 `is not a JSON object`,
		`{}`:                                  `holds no distribution`,
		`{"a": {}}`:                           `distribution "a": no toolset has a percent above 0`,
		`{"a": {"web": 0}}`:                   `distribution "a": no toolset has a percent above 0`,
		`{"a": 5}`:                            `distribution "a": is not a JSON object of toolsets`,
		`{"a": null}`:                         `distribution "a": is not a JSON object of toolsets`,
		`{"a": {"webb": 5}}`:                  `distribution "a": unknown toolset "webb"; allowed: web, vision, image_gen, terminal, file, moa, browser, calculator, search, code_execution, todo, tts`,
		`{"a": {"Web": 5}}`:                   `unknown toolset "Web"`,
		`{"a": {"web": 101}}`:                 `distribution "a": toolset "web": percent must be a number from 0 to 100, not 101`,
		`{"a": {"web": -1}}`:                  `not -1`,
		`{"a": {"web": 1e999}}`:               `not 1e999`,
		`{"a": {"web": "50"}}`:                `not "50"`,
		`{"a": {"web": null}}`:                `not null`,
		`{"a": {"web": true}}`:                `not true`,
		`{"a": {"web": [1]}}`:                 `not [1]`,
		`{"a": {"web": 1, "web": 2}}`:         `distribution "a": toolset "web" is there twice`,
		`{"a": {"web": 1}, "a": {"file": 1}}`: `distribution "a": is there twice`,
		`{"default": {"web": 1}}`:             `distribution "default": is the name of a built-in one`,
		`{"": {"web": 1}}`:                    `distribution name "": must start with`,
		`{"../a": {"web": 1}}`:                `distribution name "../a"`,
		`{"a\n": {"web": 1}}`:                 `distribution name`,
		strings.Repeat(" ", maxDistributionFile+1): `is larger than`,
	} {
		_, err := readDistributions("mine.json", strings.NewReader(content), Toolsets())
		if !errors.Is(err, ErrDistributionFile) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "mine.json") {
			t.Errorf("%.40s: %v; want %s", content, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40s: more than one line: %v", content, err)
		}
	}
}

func FuzzDistributionFile(f *testing.F) {
	f.Add(`{"a": {"web": 50, "file": 0}, "b": {"tts": 1e-3}}`)
	f.Add(`{"a": {"web": 50, "web": 60}}`)
	f.Add(`{"a": {"web": -0}}`)
	f.Add(`{"a": {"web": 0x10}, "local": {}}`)
	f.Add(`{"a":{"web":1},"a":[[[`)
	f.Fuzz(func(t *testing.T, content string) {
		ds, err := readDistributions("f", strings.NewReader(content), Toolsets())
		if err != nil {
			if !errors.Is(err, ErrDistributionFile) {
				t.Fatalf("%q: %v", content, err)
			}
			return
		}
		for _, d := range ds {
			drawn := d.Draw(0, []byte("x"))
			if len(drawn) == 0 || len(drawn) > len(d.Chances) {
				t.Fatalf("%q: drew %v of %v", content, drawn, d.Chances)
			}
			if _, err := members(fmt.Appendf(nil, `{"a":%s}`, d.Canonical())); err != nil {
				t.Fatalf("%q: canonical form %s: %v", content, d.Canonical(), err)
			}
			for _, c := range d.Chances {
				if !(c.Percent > 0 && c.Percent <= 100) {
					t.Fatalf("%q: %v", content, c)
				}
			}
		}
	})
}

func TestList(t *testing.T) {
	var b bytes.Buffer
	if err := List(&b, Distributions(), Toolsets()); err != nil {
		t.Fatal(err)
	}
	golden(t, "list.txt", b.Bytes())
	if strings.ContainsRune(b.String(), '\x1b') {
		t.Error("escapes in the list")
	}
	// The list shows the very numbers that are drawn from.
	lines := strings.Split(b.String(), "\n")
	header := strings.Fields(lines[0])
	for i, d := range Distributions() {
		cells := strings.Fields(lines[i+1])
		for j, name := range header[1 : len(header)-1] {
			want := "-"
			if p := d.percent(name); p > 0 {
				want = fmt.Sprint(p)
			}
			if cells[0] != d.Name || cells[j+1] != want {
				t.Errorf("%s: %s is %s, want %s", cells[0], name, cells[j+1], want)
			}
		}
	}
}

func TestListOfOwnDistributions(t *testing.T) {
	ds := []Distribution{{Name: "mine", Chances: []Chance{{"file", 12.5}, {"todo", 100}}}}
	var b bytes.Buffer
	if err := List(&b, ds, Toolsets()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mine", "12.5", "100", "todo: not in this version: needs"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestListToABrokenPipe(t *testing.T) {
	if err := List(full{}, Distributions(), Toolsets()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
