package tools

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCalculator(t *testing.T) {
	for expression, want := range map[string]string{
		// exact
		"17 * 23":                     "391",
		"0.1 + 0.2":                   "0.3",
		"1/3*3":                       "1",
		"2**100":                      "1267650600228229401496703205376",
		"9007199254740993 + 0":        "9007199254740993",
		"10 / 4":                      "2.5",
		"1e3":                         "1000",
		"2.5e-3 * 2":                  "0.005",
		".5 + 1.":                     "1.5",
		"1/2**20":                     "0.00000095367431640625",
		"100 - 99.99":                 "0.01",
		"sqrt(16) + sqrt(0.25)":       "4.5",
		"4 ** 0.5":                    "2",
		"sqrt(10**400) / 10**200":     "1",
		"round(2.5) + round(-2.5)":    "0",
		"round(2.675, 2)":             "2.68",
		"round(1234.5678, -2)":        "1200",
		"floor(-1.5) * 10 + ceil(.1)": "-19",
		"min(3, 1/3, 2) * 3":          "1",
		"max(1, 2.5)":                 "2.5",
		"abs(-7/2)":                   "3.5",
		// order of operations
		"2 + 3 * 4":     "14",
		"(2 + 3) * 4":   "20",
		"2 ** 3 ** 2":   "512",
		"-2 ** 2":       "-4",
		"2 ** -1":       "0.5",
		"2^10":          "1024",
		"10 - 4 - 3":    "3",
		"100 / 10 / 2":  "5",
		"--3":           "3",
		"+4 - -4":       "8",
		"7 % 3":         "1",
		"-7 % 3":        "2",
		"7 % -3":        "-2",
		"5.5 % 2":       "1.5",
		"2 * 3 % 4":     "2",
		"0 ** 0":        "1",
		"(-1) ** 10**9": "1",
		// other spellings
		"6 × 7":             "42",
		"84 ÷ 2":            "42",
		"50 − 8":            "42",
		"  1\n+\t1 ":        "2",
		"SQRT(4) + Max(1,)": "",
		"round(π, 4)":       "3.1416",
		// where exactness ends
		"1/3":                "0.333333333333333",
		"2/3":                "0.666666666666667",
		"sqrt(2)":            "1.4142135623731",
		"sqrt(2) * sqrt(2)":  "2",
		"pi":                 "3.14159265358979",
		"e":                  "2.71828182845905",
		"exp(1) - e":         "0",
		"ln(e)":              "1",
		"log(1000)":          "3",
		"floor(log(1000))":   "3",
		"log(8, 2)":          "3",
		"ln(10**1000)":       "2302.58509299405",
		"sin(pi)":            "0",
		"cos(pi/2)":          "0",
		"sin(pi/6)":          "0.5",
		"tan(pi/4)":          "1",
		"sin(0.000001)":      "0.000000999999999999833",
		"8 ** (1/3)":         "2",
		"exp(100)":           "2.68811714181614e+43",
		"10**30 / 7":         "1.42857142857143e+29",
		"10**400 / 7":        "1.42857142857143e+399",
		"1 / (7 * 10**400)":  "1.42857142857143e-401",
		"pi % 2":             "1.14159265358979",
		"-pi % 2":            "0.858407346410207",
		"1e-9 * pi":          "3.14159265358979e-09",
		"min(pi, 22/7) - pi": "0",
	} {
		got, err := evaluate(context.Background(), expression)
		switch {
		case want == "" && err == nil:
			t.Errorf("%s = %s, want an error", expression, got)
		case want != "" && err != nil:
			t.Errorf("%s: %v", expression, err)
		case want != "" && got.String() != want:
			t.Errorf("%s = %s, want %s", expression, got, want)
		}
	}
}

func TestCalculatorErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"":                 "ends too early",
		"1 +":              "ends too early",
		"(1":               `expected ")"`,
		"1)":               `unexpected ")"`,
		"1 / 0":            "division by zero",
		"1 % 0":            "division by zero",
		"0 ** -1":          "division by zero",
		"log(5, 1)":        "division by zero",
		"tan(pi/2)":        "division by zero",
		"sqrt(-1)":         "no real result",
		"(-8) ** (1/3)":    "no real result",
		"ln(0)":            "no real result",
		"ln(-pi)":          "no real result",
		"1,234 + 1":        "commas only separate arguments",
		"2 pi":             "write * for multiplication",
		"2(3)":             "write * for multiplication",
		"(1)(2)":           "write * for multiplication",
		"50%":              "ends too early",
		"x + 1":            `unknown name "x"`,
		"__import__('os')": "unknown name",
		"sqrt 4":           "is a function",
		"sqrt()":           "unexpected",
		"sqrt(1, 2)":       "does not take 2 arguments",
		"round(1, 0.5)":    "must be an integer",
		"round(1, 99999)":  "must be an integer",
		"1.2.3":            "is not a number",
		".":                "is not a number",
		"1 = 1":            `unexpected "="`,
		"5!":               `unexpected "!"`,
		"7 // 2":           `unexpected "/"`,
		"１":                "unexpected",
		"\xff":             "unexpected",
		"9**9**9":          "too many digits",
		"9**9**9**9**9":    "too many digits",
		"2**-(10**30)":     "too many digits",
		"1.5**100000000":   "too many digits",
		"exp(1000)":        "too many digits",
		"pi ** 1000000":    "too many digits",
		"1e5000":           "exponent",
		"1e99999999999999": "exponent",
		"sin(10**400)":     "no real result",
		"pi * 10**400":     "too many digits",
		strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200): "nested",
		strings.Repeat("-", 200) + "1":                            "nested",
		strings.Repeat("2**", 200) + "1":                          "nested",
		strings.Repeat("1+", 2000) + "1":                          "longer than",
	} {
		got, err := evaluate(context.Background(), expression)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s = %s, %v; want an error with %q", expression, got, err, want)
		}
	}
}

func TestCalculatorResultShape(t *testing.T) {
	for _, c := range []struct{ args, text, status string }{
		{`{"expression":"17 * 23"}`, `{"result":"391","expression":"17 * 23"}`, StatusOK},
		{`{"expression":"1 < 2"}`, `{"error":"unexpected \"<\""}`, StatusError},
		{`{"expression":"1/0"}`, `{"error":"division by zero"}`, StatusError},
		{`{"expression":42}`, `{"result":"42","expression":"42"}`, StatusOK},
		{`{"expr":"1"}`, `{"error":"bad arguments for calculator: unknown \"expr\"; missing \"expression\". Expected: expression (required). Given: expr."}`, StatusBadArguments},
		{`{}`, `{"error":"bad arguments for calculator: missing \"expression\". Expected: expression (required). Given: nothing."}`, StatusBadArguments},
		{`{"expression":NaN}`, `{"error":"bad arguments for calculator: not a JSON object: invalid character 'N' looking for beginning of value"}`, StatusBadArguments},
	} {
		r, err := Run(context.Background(), calculator{}, &Call{Args: []byte(c.args)})
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, r)
		if r.Text != c.text || r.Status != c.status {
			t.Errorf("%s\n got %s %s\nwant %s %s", c.args, r.Status, r.Text, c.status, c.text)
		}
	}
}

// The worst that the limits let through still ends quickly.
func TestCalculatorIsQuick(t *testing.T) {
	tower := "(9**4000)"
	for _, expression := range []string{
		strings.TrimSuffix(strings.Repeat(tower+"/7**3000*", 200), "*"),
		strings.TrimSuffix(strings.Repeat("1/9**4999+", 300), "+"),
		strings.TrimSuffix(strings.Repeat("sqrt(3**5000)+", 250), "+"),
		strings.TrimSuffix(strings.Repeat("sqrt(3)*", 490), "*"),
		strings.Repeat("9", maxExpression),
		"1." + strings.Repeat("9", maxExpression-2),
		strings.TrimSuffix(strings.Repeat("round(1/7,1000)+", 249), "+"),
	} {
		start := time.Now()
		_, _ = evaluate(context.Background(), expression)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%.40s… took %v", expression, took)
		}
	}
}

func TestCalculatorStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Run(ctx, calculator{}, &Call{Args: []byte(`{"expression":"1+1"}`)}); err == nil {
		t.Errorf("got %s, want the context's error", r.Text)
	}
}

func FuzzCalculator(f *testing.F) {
	for _, seed := range []string{
		"17*23", "1/3", "2**3**2", "-2**-2", "sqrt(2)", "round(1.25,1)", "log(8,2)", "1e3", "1e", "2e+", "(((",
		"min(1,2,3)", "9**9**9", "π×−1", "%", "1,2", "e", "ee", "0x1p4", "sin(pi)", "\x00", "1..2",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		start := time.Now()
		n, err := evaluate(context.Background(), expression)
		if took := time.Since(start); took > 10*time.Second {
			t.Fatalf("took %v", took)
		}
		if err != nil {
			return
		}
		// A result can be computed with again, and is the same number then.
		text := n.String()
		if len(text) > 300 || strings.Contains(text, "e") {
			return // may lie outside of what may be typed in
		}
		again, err := evaluate(context.Background(), text)
		if err != nil {
			t.Fatalf("%q gave %s, which is no expression: %v", expression, text, err)
		}
		if n.isInt() && again.String() != text {
			t.Fatalf("%q gave %s, and that %s", expression, text, again)
		}
	})
}

func ExampleCatalogue() {
	offer := Catalogue([]string{"web", "calculator", "file"}, Toolsets())
	fmt.Println(offer.Toolsets, offer.Names())
	// Output: [calculator file] [calculator patch read_file search_files write_file]
}
