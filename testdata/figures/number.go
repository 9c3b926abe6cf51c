package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Median is 0 without samples.
func Median(samples []float64) float64 {
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

// Spread is how far samples lie apart, as a part of their median.
func Spread(samples []float64) float64 {
	m := Median(samples)
	if m == 0 {
		return 0
	}
	return (slices.Max(samples) - slices.Min(samples)) / m
}

// Quantile is the smallest value that at least that part of sorted ones do not
// exceed; the zero value without any.
func Quantile[T cmp.Ordered](sorted []T, part float64) (value T) {
	if len(sorted) == 0 {
		return value
	}
	i := int(math.Ceil(part*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// Short prints a number with about three digits, and with commas between the
// thousands.
func Short(v float64) string {
	switch {
	case math.Abs(v) >= 1000:
		return grouped(fmt.Sprintf("%.0f", v))
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// Count prints a whole number and what it counts, as "1 worker" and "1,000
// workers".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return grouped(strconv.Itoa(n)) + " " + thing
}

// grouped puts commas into the digits of a whole number.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
