package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// metric names what is measured. Name is that of a Go benchmark, without
// "Benchmark".
type metric struct {
	name, what, unit string
	target           bound
}

// bound is a target. The zero value is none, and less is better.
type bound struct {
	limit  float64
	higher bool // more is better
}

func atMost(limit float64) bound  { return bound{limit: limit} }
func atLeast(limit float64) bound { return bound{limit: limit, higher: true} }
func more() bound                 { return bound{higher: true} }

// String is "≤ 1.1" or "≥ 100", "" without a target.
func (b bound) String() string {
	switch {
	case b.limit == 0:
		return ""
	case b.higher:
		return "≥ " + short(b.limit)
	}
	return "≤ " + short(b.limit)
}

// verdict is "met" or "missed", "" without a target.
func (b bound) verdict(value float64) string {
	switch {
	case b.limit == 0:
		return ""
	case b.higher && value >= b.limit, !b.higher && value <= b.limit:
		return "met"
	}
	return "missed"
}

// results collects samples. The zero value is ready for use.
type results struct {
	metrics []metric // in the order of their first samples
	samples map[sampleKey][]float64
}

type sampleKey struct{ program, metric string }

func (r *results) add(program string, m metric, value float64) {
	if r.samples == nil {
		r.samples = map[sampleKey][]float64{}
	}
	if !slices.ContainsFunc(r.metrics, func(known metric) bool { return known.name == m.name }) {
		r.metrics = append(r.metrics, m)
	}
	key := sampleKey{program, m.name}
	r.samples[key] = append(r.samples[key], value)
}

func (r *results) median(program, name string) float64 {
	return median(r.samples[sampleKey{program, name}])
}

// figure is a metric with what was measured.
type figure struct {
	Name    string               `json:"name"`
	What    string               `json:"what"`
	Unit    string               `json:"unit"`
	Better  string               `json:"better"` // "lower" or "higher"
	Target  float64              `json:"target,omitempty"`
	Verdict string               `json:"verdict,omitempty"` // of the first program: "met" or "missed"
	Median  map[string]float64   `json:"median"`            // by program
	Spread  map[string]float64   `json:"spread"`            // (largest - smallest) / median
	Samples map[string][]float64 `json:"samples"`
	Ratio   float64              `json:"ratio,omitempty"` // of the medians: this to other

	target bound
}

func (r *results) figures() (list []figure) {
	for _, m := range r.metrics {
		f := figure{Name: m.name, What: m.what, Unit: m.unit, Better: "lower", Target: m.target.limit, target: m.target,
			Median: map[string]float64{}, Spread: map[string]float64{}, Samples: map[string][]float64{}}
		if m.target.higher {
			f.Better = "higher"
		}
		for key, samples := range r.samples {
			if key.metric == m.name {
				f.Median[key.program], f.Spread[key.program], f.Samples[key.program] = median(samples), spread(samples), samples
			}
		}
		if this, ok := f.Median["this"]; ok {
			f.Verdict = m.target.verdict(this)
			if other := f.Median["other"]; other != 0 {
				f.Ratio = this / other
			}
		}
		list = append(list, f)
	}
	return list
}

// median is 0 without samples.
func median(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// spread is how far samples lie apart, as a part of their median.
func spread(samples []float64) float64 {
	m := median(samples)
	if m == 0 {
		return 0
	}
	return (slices.Max(samples) - slices.Min(samples)) / m
}

// quantile is the smallest value that at least that part of sorted ones do not
// exceed; the zero value without any.
func quantile[T cmp.Ordered](sorted []T, part float64) (value T) {
	if len(sorted) == 0 {
		return value
	}
	i := int(math.Ceil(part*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// short prints a number with about four digits.
func short(v float64) string {
	switch {
	case math.Abs(v) >= 1000:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.3g", v)
}
