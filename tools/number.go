package tools

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxBits bounds an exact number: about 4,900 digits.
const maxBits = 1 << 14

// maxDecimals is how many decimals of an exact number are shown before it is rounded.
const maxDecimals = 60

var (
	errTooLarge   = errors.New("the number has too many digits")
	errNoReal     = errors.New("has no real result")
	errDivideZero = errors.New("division by zero")
)

// number is exact while rat is set, and a float with about 15 good digits otherwise.
type number struct {
	rat    *big.Rat
	approx float64
}

type operation func(a, b number) (number, error)

func exact(n int64) number { return number{rat: big.NewRat(n, 1)} }

// checked refuses what is out of bounds.
func (n number) checked() (number, error) {
	switch {
	case n.rat != nil && n.rat.Num().BitLen()+n.rat.Denom().BitLen() > maxBits:
		return number{}, errTooLarge
	case n.rat == nil && math.IsInf(n.approx, 0):
		return number{}, errTooLarge
	case n.rat == nil && math.IsNaN(n.approx):
		return number{}, errNoReal
	}
	return n, nil
}

// float returns the nearest float64, an infinity if there is none.
func (n number) float() float64 {
	if n.rat == nil {
		return n.approx
	}
	f, _ := n.rat.Float64()
	return f
}

func (n number) isInt() bool { return n.rat != nil && n.rat.IsInt() }

// either computes exactly if both operands are exact.
func either(a, b number, exactly func(z, x, y *big.Rat) *big.Rat, roughly func(x, y float64) float64) (number, error) {
	if a.rat != nil && b.rat != nil {
		return number{rat: exactly(new(big.Rat), a.rat, b.rat)}, nil
	}
	return number{approx: roughly(a.float(), b.float())}, nil
}

func add(a, b number) (number, error) {
	return either(a, b, (*big.Rat).Add, func(x, y float64) float64 { return x + y })
}

func subtract(a, b number) (number, error) {
	return either(a, b, (*big.Rat).Sub, func(x, y float64) float64 { return x - y })
}

func multiply(a, b number) (number, error) {
	return either(a, b, (*big.Rat).Mul, func(x, y float64) float64 { return x * y })
}

func divide(a, b number) (number, error) {
	if b.isZero() {
		return number{}, errDivideZero
	}
	return either(a, b, (*big.Rat).Quo, func(x, y float64) float64 { return x / y })
}

// remainder has the sign of the divisor: a - b*floor(a/b).
func remainder(a, b number) (number, error) {
	if b.isZero() {
		return number{}, errDivideZero
	}
	return either(a, b,
		func(z, x, y *big.Rat) *big.Rat {
			whole := new(big.Rat).SetInt(floor(z.Quo(x, y)))
			return z.Sub(x, whole.Mul(whole, y))
		},
		func(x, y float64) float64 {
			m := math.Mod(x, y)
			if m != 0 && (m < 0) != (y < 0) {
				m += y
			}
			return m
		})
}

func (n number) isZero() bool {
	if n.rat != nil {
		return n.rat.Sign() == 0
	}
	return n.approx == 0
}

func power(a, b number) (number, error) {
	if a.isZero() && (b.rat != nil && b.rat.Sign() < 0 || b.rat == nil && b.approx < 0) {
		return number{}, errDivideZero
	}
	if a.rat != nil && b.isInt() {
		return wholePower(a.rat, b.rat.Num())
	}
	if b.rat != nil && b.rat.Cmp(big.NewRat(1, 2)) == 0 {
		return squareRoot(a)
	}
	return number{approx: math.Pow(a.float(), b.float())}, nil
}

// wholePower knows the size of the result before it computes it.
func wholePower(base *big.Rat, exponent *big.Int) (number, error) {
	switch {
	case exponent.Sign() == 0:
		return exact(1), nil
	case base.IsInt() && base.Num().IsInt64() && abs(base.Num().Int64()) <= 1:
		if exponent.Bit(0) == 0 {
			base = new(big.Rat).Abs(base)
		}
		return number{rat: base}, nil
	}
	bits := max(base.Num().BitLen(), base.Denom().BitLen()) - 1
	if !exponent.IsInt64() || abs(exponent.Int64()) > int64(maxBits/bits) {
		return number{}, errTooLarge
	}
	e := new(big.Int).Abs(exponent)
	num := new(big.Int).Exp(base.Num(), e, nil)
	denom := new(big.Int).Exp(base.Denom(), e, nil)
	if exponent.Sign() < 0 {
		num, denom = denom, num
	}
	return number{rat: new(big.Rat).SetFrac(num, denom)}, nil
}

func abs(n int64) int64 { return max(n, -n) }

// String writes an integer or a finite decimal in full, and anything else to 15 digits.
func (n number) String() string {
	if n.rat == nil {
		return digits15(n.approx)
	}
	if n.rat.IsInt() {
		return n.rat.Num().String()
	}
	if decimals, finite := n.rat.FloatPrec(); finite && decimals <= maxDecimals {
		return n.rat.FloatString(decimals)
	}
	if f := n.float(); f != 0 && !math.IsInf(f, 0) {
		return digits15(f)
	}
	wide := new(big.Float).SetPrec(64).SetRat(n.rat)
	return shorten(wide.Text('e', 14))
}

// digits15 hides the noise of binary fractions: 0.1 + 0.2 is 0.3.
func digits15(f float64) string {
	rounded := rounded15(f)
	if size := math.Abs(rounded); size == 0 || size >= 1e-7 && size < 1e21 {
		return strconv.FormatFloat(rounded+0, 'f', -1, 64)
	}
	return shorten(strconv.FormatFloat(f, 'e', 14, 64))
}

func rounded15(f float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', 14, 64), 64)
	if err != nil {
		return f
	}
	return r
}

// shorten drops the zeros at the end of the mantissa of 1.50000e+30.
func shorten(scientific string) string {
	mantissa, exponent, _ := strings.Cut(scientific, "e")
	return fmt.Sprintf("%se%s", strings.TrimSuffix(strings.TrimRight(mantissa, "0"), "."), exponent)
}
