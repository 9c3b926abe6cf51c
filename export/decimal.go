package export

import (
	"math"
	"strconv"
)

// appendFloat appends f in its shortest form with a decimal point and without
// an exponent, so that readers which take a column's type from its first rows
// see the same type in all of them. What JSON cannot hold becomes 0.0.
func appendFloat(dst []byte, f float64) []byte {
	f = finite(f)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if f == math.Trunc(f) {
		dst = append(dst, ".0"...)
	}
	return dst
}

// finite is f, or 0 for what is no number.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// Decimal is a float64 that is written in its shortest form, with a decimal
// point and without an exponent.
type Decimal float64

// MarshalJSON implements json.Marshaler.
func (d Decimal) MarshalJSON() ([]byte, error) { return appendFloat(nil, float64(d)), nil }

// round2 rounds to two decimals, as rates and seconds are given.
func round2(f float64) Decimal { return Decimal(math.Round(f*100) / 100) }

// roundCost cuts off what adding floats up leaves behind the billionths.
func roundCost(f float64) Decimal { return Decimal(math.Round(f*1e9) / 1e9) }

// String is the number as it is written.
func (d Decimal) String() string { return string(appendFloat(nil, float64(d))) }
