package figures

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Reports are those of several programs, by the names of their files without
// ".json".
type Reports map[string]Report

// LoadAll reads all reports of a folder.
func LoadAll(dir string) (Reports, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	all := Reports{}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if all[name], err = Load(path); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// A marked part of a document is from a mark, which may have several lines, to
// <!-- end -->:
//
//	<!-- machine FILE -->                    the facts of the machine
//	<!-- figures FILE FILE:NAME ... -->      tables with spreads and commands
//	<!-- rows FILE FILE:NAME ... -->         one short table
//
// FILE stands for all its figures, NAME for one of them or for a scenario. A
// file that is not there has not been measured yet.
var marked = regexp.MustCompile(`(?ms)^(<!-- (machine|figures|rows)\s([^>]*?)-->\n).*?^<!-- end -->$`)

// Fill writes what the marks of a document ask for between them. It also
// returns the scenarios that stand in tables with commands, as FILE:SCENARIO.
func (all Reports) Fill(document string) (filled string, told map[string]bool, err error) {
	told = map[string]bool{}
	filled = marked.ReplaceAllStringFunc(document, func(part string) string {
		m := marked.FindStringSubmatch(part)
		text, failed := all.part(m[2], strings.Fields(m[3]), told)
		err = cmp.Or(err, failed)
		return m[1] + "\n" + text + "\n<!-- end -->"
	})
	return filled, told, err
}

func (all Reports) part(kind string, items []string, told map[string]bool) (string, error) {
	var chosen []Figure
	for _, item := range items {
		file, name, _ := strings.Cut(item, ":")
		report, ok := all[file]
		if !ok {
			return "Not measured yet.\n", nil
		}
		if kind == "machine" {
			return report.Machine.line() + "\n", nil
		}
		figures := report.named(name)
		if len(figures) == 0 {
			return "", fmt.Errorf("no figures for %s", item)
		}
		for _, f := range figures {
			told[file+":"+f.Scenario] = told[file+":"+f.Scenario] || kind == "figures"
		}
		chosen = append(chosen, figures...)
	}
	if kind == "rows" {
		return short(chosen), nil
	}
	return markdown(chosen), nil
}

// named are the figures with that name or of that scenario, all for "".
func (r Report) named(name string) (list []Figure) {
	for _, f := range r.Figures {
		if name == "" || f.Name == name || f.Scenario == name {
			list = append(list, f)
		}
	}
	return list
}

// FillFile fills a document in place.
func (all Reports) FillFile(path string) (told map[string]bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	filled, told, err := all.Fill(string(text))
	if err != nil || filled == string(text) {
		return told, err
	}
	return told, os.WriteFile(path, []byte(filled), 0o644)
}

// origin is what figures of one table have in common.
type origin struct{ command, commit, day string }

func (f Figure) origin() origin {
	return origin{f.Command, f.Commit, f.At.Format("2006-01-02")}
}

// spread is that of This as it is printed, "" of a single sample.
func (f Figure) spread() string {
	if len(f.Samples[This]) < 2 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*f.Spread[This])
}

// markdown makes a table for each command, commit and day, in the order of
// their first figures.
func markdown(figures []Figure) string {
	var origins []origin
	for _, f := range figures {
		if o := f.origin(); !slices.Contains(origins, o) {
			origins = append(origins, o)
		}
	}
	var b strings.Builder
	for i, o := range origins {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("| figure | median | unit | spread | target | |\n|---|--:|---|--:|---|---|\n")
		for _, f := range figures {
			if f.origin() == o {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", cell(f.What), Short(f.Median[This]), f.Unit, f.spread(), f.Held(), f.Verdict)
			}
		}
		fmt.Fprintf(&b, "\n`%s`, commit %s, %s\n", o.command, o.commit, o.day)
	}
	return b.String()
}

// cell keeps what is part of the figure above it apart from others.
func cell(what string) string {
	if rest, ok := strings.CutPrefix(what, "  "); ok {
		what = "– " + rest
	}
	return strings.ReplaceAll(what, "|", `\|`)
}

// short makes a table without spreads and commands.
func short(figures []Figure) string {
	var b strings.Builder
	b.WriteString("| figure | value | target |\n|---|---|---|\n")
	for _, f := range figures {
		target := f.Held().String()
		if target != "" {
			target += ", " + f.Verdict
		}
		value := Short(f.Median[This])
		if !ratios[f.Unit] {
			value += " " + f.Unit
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.ReplaceAll(strings.TrimSpace(f.What), "|", `\|`), value, target)
	}
	return b.String()
}

// ratios are units that say no more than what is measured does.
var ratios = map[string]bool{"ratio": true, "wall/ideal": true, "store/jsonl": true}
