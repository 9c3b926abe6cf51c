package figures

import (
	"math"
	"slices"
)

// scale maps values to 0..1.
type scale struct {
	low, high float64 // logarithms on a logarithmic one
	log       bool
	ticks     []float64
}

func (s scale) part(v float64) float64 {
	if s.log {
		v = math.Log10(max(v, math.Pow(10, s.low)))
	}
	return (v - s.low) / (s.high - s.low)
}

// scale spans all values of the lines.
func (a Axis) scale(lines []Line, values func(Point) []float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.Points {
			for _, v := range values(p) {
				if v > 0 {
					low, high = min(low, v), max(high, v)
				}
			}
		}
	}
	switch {
	case low > high:
		return linear(1)
	case a.Log:
		return logarithmic(low, high)
	}
	return linear(high)
}

// logarithmic is a scale that begins and ends at 1, 2 or 5 times a power of
// ten. Its ticks are those, or the powers alone if there would be too many.
func logarithmic(low, high float64) scale {
	var all []float64
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		all = append(all, math.Pow(10, e), 2*math.Pow(10, e), 5*math.Pow(10, e))
	}
	for all[1] <= low {
		all = all[1:]
	}
	for len(all) > 2 && all[len(all)-2] >= high {
		all = all[:len(all)-1]
	}
	s := scale{low: math.Log10(all[0]), high: math.Log10(all[len(all)-1]), log: true, ticks: all}
	if len(all) > mostTicks {
		s.ticks = slices.DeleteFunc(all, func(v float64) bool { e := math.Log10(v); return math.Abs(e-math.Round(e)) > 1e-9 })
	}
	return s
}

// mostTicks can be told apart on an axis.
const mostTicks = 9

// linear is a scale from 0 with about five steps of 1, 2 or 5.
func linear(high float64) scale {
	step := math.Pow(10, math.Floor(math.Log10(high/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if high/(m*step) <= 6 {
			step *= m
			break
		}
	}
	s := scale{high: math.Ceil(high/step) * step}
	for i := range int(math.Round(s.high/step)) + 1 {
		s.ticks = append(s.ticks, float64(i)*step)
	}
	return s
}
