package figures

import (
	"slices"
	"time"
)

// This labels the program whose figures are held against targets; Other is one
// that it is compared with.
const (
	This  = "this"
	Other = "other"
)

// Metric names what is measured. Name is that of a Go benchmark, without
// "Benchmark"; its parameters follow as in "Wall/workers=64".
type Metric struct {
	Name, What, Unit string
	Target           Target
}

// Figure is a metric with what was measured.
type Figure struct {
	Name     string               `json:"name"`
	Scenario string               `json:"scenario"`
	What     string               `json:"what"`
	Unit     string               `json:"unit"`
	Better   string               `json:"better"` // "lower" or "higher"
	Target   *float64             `json:"target,omitempty"`
	Verdict  string               `json:"verdict,omitempty"` // of This: "met" or "missed"
	Median   map[string]float64   `json:"median"`            // by program
	Spread   map[string]float64   `json:"spread"`            // (largest - smallest) / median
	Samples  map[string][]float64 `json:"samples"`
	Ratio    float64              `json:"ratio,omitempty"` // of the medians: This to Other
	Command  string               `json:"command"`         // measures it again
	Commit   string               `json:"commit"`          // of the tree that was measured, "+" after it if changed
	At       time.Time            `json:"at"`              // when its first sample was taken
}

// Held is the target, which the zero value of a Figure has none of.
func (f Figure) Held() Target {
	t := Target{Higher: f.Better == "higher"}
	if f.Target != nil {
		t.Limit, t.Held = *f.Target, true
	}
	return t
}

// Results collects samples. The zero value is ready for use; it is not safe
// for concurrent use.
type Results struct {
	Commit  string // of the tree that is measured
	figures []Figure
	now     struct{ scenario, command string }
}

// Begin says what the metrics that are new from now on belong to, and the
// command that measures them again.
func (r *Results) Begin(scenario, command string) { r.now.scenario, r.now.command = scenario, command }

// Add adds a sample. The first one of a metric's name decides about its text
// and target.
func (r *Results) Add(program string, m Metric, value float64) {
	i := slices.IndexFunc(r.figures, func(f Figure) bool { return f.Name == m.Name })
	if i < 0 {
		i = len(r.figures)
		r.figures = append(r.figures, r.begin(m))
	}
	samples := r.figures[i].Samples
	samples[program] = append(samples[program], value)
}

func (r *Results) begin(m Metric) Figure {
	f := Figure{Name: m.Name, Scenario: r.now.scenario, What: m.What, Unit: m.Unit, Better: "lower", Command: r.now.command,
		Commit: r.Commit, At: time.Now().UTC().Truncate(time.Second), Samples: map[string][]float64{}}
	if m.Target.Higher {
		f.Better = "higher"
	}
	if m.Target.Held {
		f.Target = &m.Target.Limit
	}
	return f
}

// Median is that of the samples so far, 0 without any.
func (r *Results) Median(program, name string) float64 {
	for _, f := range r.figures {
		if f.Name == name {
			return Median(f.Samples[program])
		}
	}
	return 0
}

// Figures are those of all samples so far, in the order of their first ones.
func (r *Results) Figures() []Figure {
	list := slices.Clone(r.figures)
	for i := range list {
		list[i].sum()
	}
	return list
}

// sum draws what follows from the samples.
func (f *Figure) sum() {
	f.Median, f.Spread = map[string]float64{}, map[string]float64{}
	for program, samples := range f.Samples {
		f.Median[program], f.Spread[program] = Median(samples), Spread(samples)
	}
	if this, ok := f.Median[This]; ok {
		f.Verdict = f.Held().Verdict(this)
		if other := f.Median[Other]; other != 0 {
			f.Ratio = this / other
		}
	}
}
