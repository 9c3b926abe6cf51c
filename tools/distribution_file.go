package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxDistributionFile bounds what is read of a distribution file, in bytes.
const maxDistributionFile = 1 << 20

var distributionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`) })

// LoadDistributions reads distributions from a JSON file of the form
// {"name": {"toolset": percent, …}, …}, in the order of the file. Chances are brought into the
// order of sets, and a toolset at 0 is the same as one left out. A problem of the content is an
// ErrDistributionFile.
func LoadDistributions(path string, sets []Toolset) ([]Distribution, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readDistributions(path, f, sets)
}

func readDistributions(file string, r io.Reader, sets []Toolset) ([]Distribution, error) {
	refuse := func(err error) ([]Distribution, error) {
		return nil, fmt.Errorf("%w %s: %w", ErrDistributionFile, file, err)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxDistributionFile+1))
	if err != nil {
		return refuse(err)
	}
	if len(data) > maxDistributionFile {
		return refuse(fmt.Errorf("is larger than %d bytes", maxDistributionFile))
	}
	named, err := members(bytes.TrimPrefix(data, []byte("\uFEFF")))
	if err != nil {
		return refuse(fmt.Errorf("is not a JSON object of the form {\"name\": {\"toolset\": percent}}: %w", err))
	}
	if len(named) == 0 {
		return refuse(fmt.Errorf("holds no distribution"))
	}
	var ds []Distribution
	for _, m := range named {
		if err := checkName(m.key, ds); err != nil {
			return refuse(err)
		}
		chances, err := readChances(m.value, sets)
		if err != nil {
			return refuse(fmt.Errorf("distribution %q: %w", m.key, err))
		}
		ds = append(ds, Distribution{Name: m.key, Chances: chances})
	}
	return ds, nil
}

func checkName(name string, before []Distribution) error {
	same := func(d Distribution) bool { return d.Name == name }
	switch {
	case !distributionName().MatchString(name):
		return fmt.Errorf("distribution name %q: must start with a letter or digit and go on with letters, digits, dots, underscores and dashes, at most 100", preview(name, 100))
	case slices.ContainsFunc(before, same):
		return fmt.Errorf("distribution %q: is there twice", name)
	case slices.ContainsFunc(Distributions(), same):
		return fmt.Errorf("distribution %q: is the name of a built-in one; take another name", name)
	}
	return nil
}

func readChances(raw json.RawMessage, sets []Toolset) ([]Chance, error) {
	entries, err := members(raw)
	if err != nil {
		return nil, fmt.Errorf("is not a JSON object of toolsets and percents")
	}
	percents := make(map[string]float64)
	for _, e := range entries {
		if !slices.ContainsFunc(sets, func(s Toolset) bool { return s.Name == e.key }) {
			return nil, fmt.Errorf("unknown toolset %q; allowed: %s", preview(e.key, 100), strings.Join(toolsetNames(sets), ", "))
		}
		if _, twice := percents[e.key]; twice {
			return nil, fmt.Errorf("toolset %q is there twice", e.key)
		}
		percent, err := strconv.ParseFloat(string(e.value), 64)
		if err != nil || percent < 0 || percent > 100 {
			return nil, fmt.Errorf("toolset %q: percent must be a number from 0 to 100, not %s", e.key, preview(string(e.value), 100))
		}
		percents[e.key] = percent
	}
	var chances []Chance
	for _, name := range toolsetNames(sets) {
		if percents[name] > 0 {
			chances = append(chances, Chance{name, percents[name]})
		}
	}
	if len(chances) == 0 {
		return nil, fmt.Errorf("no toolset has a percent above 0")
	}
	return chances, nil
}

func toolsetNames(sets []Toolset) []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.Name
	}
	return names
}
