package figures

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Series are the figures whose names are that prefix and a number, as
// "Wall/workers=" and 64, by that number: medians of This with the lowest and
// the highest sample.
func (r Report) Series(prefix string) (points []Point) {
	for _, f := range r.Figures {
		rest, ok := strings.CutPrefix(f.Name, prefix)
		x, err := strconv.ParseFloat(rest, 64)
		samples := f.Samples[This]
		if !ok || err != nil || len(samples) == 0 {
			continue
		}
		points = append(points, Point{X: x, Y: f.Median[This], Low: slices.Min(samples), High: slices.Max(samples)})
	}
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	return points
}

// Course are the samples of one figure in the order in which they were taken, at
// the middle of each step: for a quantity that was watched for a time.
func (r Report) Course(name string, step float64) (points []Point) {
	for _, f := range r.Figures {
		if f.Name != name {
			continue
		}
		for i, y := range f.Samples[This] {
			points = append(points, Point{X: (float64(i) + 0.5) * step, Y: y, Low: y, High: y})
		}
	}
	return points
}
