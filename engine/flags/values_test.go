package flags

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

func TestValues(t *testing.T) {
	var word, preset = "", "all"
	var n int
	var d time.Duration
	var list []string
	tests := []struct {
		name  string
		value flag.Value
		set   []string
		want  string // as text; or the error
		bad   bool
	}{
		{"enum", Enum(&word, "price", "latency"), []string{"latency"}, "latency", false},
		{"enum of another word", Enum(&word, "price", "latency"), []string{"speed"}, `"speed" is not one of price, latency`, true},
		{"enum in another case", Enum(&word, "price", "latency"), []string{"Price"}, `"Price" is not one of price, latency`, true},
		{"enum blank, unset at first", Enum(new(string), "price"), []string{""}, "", false},
		{"enum blank, preset", Enum(&preset, "all", "none"), []string{""}, `"" is not one of all, none`, true},
		{"number", Min(&n, 1), []string{"12"}, "12", false},
		{"the least number", Min(&n, 1), []string{"1"}, "1", false},
		{"leading zero is decimal", Min(&n, 1), []string{"010"}, "10", false},
		{"number too small", Min(&n, 1), []string{"0"}, `"0" is not a whole number ≥ 1`, true},
		{"negative least", Min(&n, -3), []string{"-3"}, "-3", false},
		{"no number", Min(&n, 1), []string{"x"}, `"x" is not a whole number ≥ 1`, true},
		{"fraction", Min(&n, 0), []string{"1.5"}, `"1.5" is not a whole number ≥ 0`, true},
		{"blank number", Min(&n, 0), []string{""}, `"" is not a whole number ≥ 0`, true},
		{"huge number", Min(&n, 0), []string{"99999999999999999999"}, `"99999999999999999999" is too large`, true},
		{"hugely negative", Min(&n, 0), []string{"-99999999999999999999"}, `"-99999999999999999999" is not a whole number ≥ 0`, true},
		{"hours", Duration(&d), []string{"2h"}, "2h", false},
		{"mixed duration", Duration(&d), []string{"1h30m"}, "1h30m", false},
		{"minutes from seconds", Duration(&d), []string{"90s"}, "1m30s", false},
		{"plain seconds", Duration(&d), []string{"600"}, "10m", false},
		{"fraction of seconds", Duration(&d), []string{"0.5"}, "500ms", false},
		{"no time", Duration(&d), []string{"0"}, "0s", false},
		{"negative time", Duration(&d), []string{"-1s"}, `"-1s" is not a duration such as 90s, 30m or 2h`, true},
		{"negative seconds", Duration(&d), []string{"-1"}, `"-1" is not a duration such as 90s, 30m or 2h`, true},
		{"time without unit", Duration(&d), []string{"2 hours"}, `"2 hours" is not a duration such as 90s, 30m or 2h`, true},
		{"blank time", Duration(&d), []string{""}, `"" is not a duration such as 90s, 30m or 2h`, true},
		{"just a point", Duration(&d), []string{"."}, `"." is not a duration such as 90s, 30m or 2h`, true},
		{"list", CommaList(&list), []string{" a, b ,,c"}, "a,b,c", false},
		{"list in parts", CommaList(&list), []string{"a", "b,c"}, "a,b,c", false},
		{"blank list", CommaList(&list), []string{"a", " , "}, "a", false},
		{"secret", Secret(new(string)), []string{" sk-1\n"}, "[hidden]", false},
		{"blank secret", Secret(new(string)), []string{""}, "", false},
		{"two lines of secret", Secret(new(string)), []string{"sk-1\nsk-2"}, "the value holds control characters, such as a line break", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			for _, s := range tt.set {
				err = tt.value.Set(s)
			}
			switch {
			case tt.bad && err == nil:
				t.Errorf("accepted, now %q", tt.value)
			case tt.bad && err.Error() != tt.want:
				t.Errorf("error %q, want %q", err, tt.want)
			case !tt.bad && (err != nil || tt.value.String() != tt.want):
				t.Errorf("got %q, %v; want %q", tt.value, err, tt.want)
			}
		})
	}
}

func TestTextOfAValueIsTakenAgain(t *testing.T) {
	for _, text := range []string{"0", "1", "59", "60", "61", "3600", "3601", "5400", "36000", "0.25", "1h0m1s", "100h"} {
		var first, second time.Duration
		a, b := Duration(&first), Duration(&second)
		if err := a.Set(text); err != nil {
			t.Fatal(err)
		}
		if err := b.Set(a.String()); err != nil || first != second {
			t.Errorf("%s: %v printed as %s, read as %v, %v", text, first, a, second, err)
		}
	}
}

func TestSecretIsTrimmedAndKept(t *testing.T) {
	var key string
	if err := Secret(&key).Set("  sk-1\r\n"); err != nil || key != "sk-1" {
		t.Errorf("key %q, %v", key, err)
	}
}

// The flag package prints usage from values that it makes itself.
func TestZeroValuesHaveText(t *testing.T) {
	_, fs := newSample()
	fs.SetOutput(io.Discard)
	fs.PrintDefaults()
	for _, v := range []flag.Value{&enum{}, &atLeast{}, new(duration), &commaList{}, &secret{}} {
		if s := v.String(); strings.Contains(s, "nil") {
			t.Errorf("%T prints %q", v, s)
		}
	}
}
