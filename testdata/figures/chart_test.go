package figures

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestScales(t *testing.T) {
	for _, tt := range []struct {
		got   scale
		ends  []float64
		ticks []float64
	}{
		{linear(227), []float64{0, 250}, []float64{0, 50, 100, 150, 200, 250}},
		{linear(1.34), []float64{0, 1.5}, []float64{0, 0.5, 1, 1.5}},
		{linear(6), []float64{0, 6}, []float64{0, 1, 2, 3, 4, 5, 6}},
		{logarithmic(1, 2000), []float64{1, 2000}, []float64{1, 10, 100, 1000}},
		{logarithmic(2, 200), []float64{2, 200}, []float64{2, 5, 10, 20, 50, 100, 200}},
		{logarithmic(3, 3), []float64{2, 5}, []float64{2, 5}},
	} {
		ends := []float64{tt.got.low, tt.got.high}
		if tt.got.log {
			ends = []float64{math.Pow(10, tt.got.low), math.Pow(10, tt.got.high)}
		}
		if !slices.EqualFunc(ends, tt.ends, near) || !slices.EqualFunc(tt.got.ticks, tt.ticks, near) {
			t.Errorf("scale %v with ticks %v, want %v with %v", ends, tt.got.ticks, tt.ends, tt.ticks)
		}
		if tt.got.part(tt.ends[0]) != 0 || !near(tt.got.part(tt.ends[1]), 1) {
			t.Errorf("the ends of %v lie at %v and %v", ends, tt.got.part(tt.ends[0]), tt.got.part(tt.ends[1]))
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// A picture is well-formed, says what it shows, and keeps within its bounds.
func TestChart(t *testing.T) {
	c := Chart{Title: "Reads < writes & more", X: Axis{Label: "workers", Log: true}, Y: Axis{Label: "time, ms"}, Lines: []Line{
		{Name: "measured", Points: []Point{{1, 10, 9, 12}, {10, 90, 90, 90}, {100, 1000, 800, 1100}}},
		{Name: "ideal", Dashed: true, Points: []Point{{X: 1, Y: 10}, {X: 100, Y: 900}}},
	}}
	svg := c.SVG()
	in := xml.NewDecoder(strings.NewReader(string(svg)))
	var texts []string
	circles := 0
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch el := token.(type) {
		case xml.StartElement:
			circles += map[string]int{"circle": 1}[el.Name.Local]
		case xml.CharData:
			texts = append(texts, string(el))
		}
	}
	for _, want := range []string{c.Title, c.X.Label, c.Y.Label, "measured", "ideal", "1,200"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no text %q among %q", want, texts)
		}
	}
	if circles != 3 {
		t.Errorf("%d points are drawn", circles)
	}
	if !strings.Contains(string(svg), `cx="76.0"`) || !strings.Contains(string(svg), `cx="680.0"`) {
		t.Errorf("the first and the last point are not at the ends of the field:\n%s", svg)
	}
	if empty := (Chart{Title: "nothing"}).SVG(); strings.Contains(string(empty), "NaN") {
		t.Errorf("a chart without lines:\n%s", empty)
	}
}

func TestSeries(t *testing.T) {
	var r Results
	for _, name := range []string{"A/n=10", "A/n=9", "AB/n=1", "A/n=x"} {
		for _, v := range []float64{3, 1, 2} {
			r.Add(This, Metric{Name: name}, v)
		}
	}
	got := Report{Figures: r.Figures()}.Series("A/n=")
	if want := []Point{{9, 2, 1, 3}, {10, 2, 1, 3}}; !slices.Equal(got, want) {
		t.Errorf("series %v, want %v", got, want)
	}
}

func TestCourse(t *testing.T) {
	var r Results
	for _, v := range []float64{5, 9, 4} {
		r.Add(This, Metric{Name: "Memory"}, v)
	}
	got := Report{Figures: r.Figures()}.Course("Memory", 2)
	if want := []Point{{1, 5, 5, 5}, {3, 9, 9, 9}, {5, 4, 4, 4}}; !slices.Equal(got, want) {
		t.Errorf("course %v, want %v", got, want)
	}
}
