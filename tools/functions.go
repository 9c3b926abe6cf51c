package tools

import (
	"errors"
	"math"
	"math/big"
)

// maxPlaces bounds the digits that round takes, before and after the point.
const maxPlaces = 1_000

// function is a function of the calculator; call gets between least and most arguments.
type function struct {
	least, most int
	call        func(args []number) (number, error)
}

var functions = map[string]function{
	"abs":   {1, 1, func(a []number) (number, error) { return magnitude(a[0]), nil }},
	"min":   {1, math.MaxInt, func(a []number) (number, error) { return extreme(a, -1), nil }},
	"max":   {1, math.MaxInt, func(a []number) (number, error) { return extreme(a, +1), nil }},
	"round": {1, 2, round},
	"floor": {1, 1, func(a []number) (number, error) { return whole(a[0], floor) }},
	"ceil":  {1, 1, func(a []number) (number, error) { return whole(a[0], ceil) }},
	"sqrt":  {1, 1, func(a []number) (number, error) { return squareRoot(a[0]) }},
	"ln":    {1, 1, func(a []number) (number, error) { return logarithm(a[0]) }},
	"log":   {1, 2, logarithmTo},
	"exp":   {1, 1, func(a []number) (number, error) { return number{approx: math.Exp(a[0].float())}, nil }},
	"sin":   {1, 1, func(a []number) (number, error) { return angular(math.Sin, a[0]), nil }},
	"cos":   {1, 1, func(a []number) (number, error) { return angular(math.Cos, a[0]), nil }},
	"tan":   {1, 1, func(a []number) (number, error) { return divide(angular(math.Sin, a[0]), angular(math.Cos, a[0])) }},
}

func magnitude(n number) number {
	if n.rat != nil {
		return number{rat: new(big.Rat).Abs(n.rat)}
	}
	return number{approx: math.Abs(n.approx)}
}

// extreme returns the smallest (sign -1) or largest (+1) argument as it stands.
func extreme(args []number, sign int) number {
	best := args[0]
	for _, n := range args[1:] {
		if compare(n, best) == sign {
			best = n
		}
	}
	return best
}

func compare(a, b number) int {
	if a.rat != nil && b.rat != nil {
		return a.rat.Cmp(b.rat)
	}
	switch x, y := a.float(), b.float(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func ceil(r *big.Rat) *big.Int {
	f := floor(new(big.Rat).Neg(r))
	return f.Neg(f)
}

// nearest rounds halves away from zero, as taught at school.
func nearest(r *big.Rat) *big.Int {
	f := floor(new(big.Rat).Add(new(big.Rat).Abs(r), big.NewRat(1, 2)))
	if r.Sign() < 0 {
		f.Neg(f)
	}
	return f
}

// whole makes an integer. A float is first freed of its noise, so that floor(log(1000)) is 3.
func whole(n number, toInt func(*big.Rat) *big.Int) (number, error) {
	r, err := rational(n)
	if err != nil {
		return number{}, err
	}
	return number{rat: new(big.Rat).SetInt(toInt(r))}, nil
}

func rational(n number) (*big.Rat, error) {
	if n.rat != nil {
		return n.rat, nil
	}
	r, ok := new(big.Rat).SetString(digits15(n.approx))
	if !ok {
		return nil, errNoReal
	}
	return r, nil
}

func round(args []number) (number, error) {
	if len(args) == 1 {
		return whole(args[0], nearest)
	}
	if !args[1].isInt() || !args[1].rat.Num().IsInt64() || abs(args[1].rat.Num().Int64()) > maxPlaces {
		return number{}, errors.New("the number of digits must be an integer from -1000 to 1000")
	}
	r, err := rational(args[0])
	if err != nil {
		return number{}, err
	}
	scale, err := wholePower(big.NewRat(10, 1), args[1].rat.Num())
	if err != nil {
		return number{}, err
	}
	scaled := new(big.Rat).Mul(r, scale.rat)
	return number{rat: scaled.Quo(scaled.SetInt(nearest(scaled)), scale.rat)}, nil
}

// squareRoot is exact for squares of fractions.
func squareRoot(n number) (number, error) {
	if n.rat == nil {
		return number{approx: math.Sqrt(n.approx)}, nil
	}
	if n.rat.Sign() < 0 {
		return number{}, errNoReal
	}
	num, denom := new(big.Int).Sqrt(n.rat.Num()), new(big.Int).Sqrt(n.rat.Denom())
	root := new(big.Rat).SetFrac(num, denom)
	if new(big.Rat).Mul(root, root).Cmp(n.rat) == 0 {
		return number{rat: root}, nil
	}
	wide := new(big.Float).SetPrec(64).SetRat(n.rat)
	f, _ := wide.Sqrt(wide).Float64()
	return number{approx: f}, nil
}

// logarithm is the natural one. Exact numbers may lie far outside of the range of a float.
func logarithm(n number) (number, error) {
	if n.rat == nil {
		return number{approx: math.Log(n.approx)}, nil
	}
	if n.rat.Sign() <= 0 {
		return number{}, errNoReal
	}
	if n.rat.Cmp(big.NewRat(1, 1)) == 0 {
		return exact(0), nil
	}
	if f := n.float(); f > math.SmallestNonzeroFloat64 && !math.IsInf(f, 0) {
		return number{approx: math.Log(f)}, nil
	}
	mantissa := new(big.Float)
	exponent := new(big.Float).SetPrec(64).SetRat(n.rat).MantExp(mantissa)
	f, _ := mantissa.Float64()
	return number{approx: math.Log(f) + float64(exponent)*math.Ln2}, nil
}

// logarithmTo is to the base 10, or to the one given.
func logarithmTo(args []number) (number, error) {
	base := exact(10)
	if len(args) == 2 {
		base = args[1]
	}
	top, err := logarithm(args[0])
	if err != nil {
		return number{}, err
	}
	bottom, err := logarithm(base)
	if err != nil {
		return number{}, err
	}
	return divide(top, bottom)
}

// angular computes a function of an angle. Where a multiple of pi should give zero, the float
// next to it gives some 1e-16: that is taken for the zero that it stands for.
func angular(f func(float64) float64, n number) number {
	angle := n.float()
	result := f(angle)
	if size := math.Abs(angle); size > 1 && math.Abs(result) < 4e-16*min(size, 1e4) {
		return exact(0)
	}
	return number{approx: result}
}
