package export

import (
	"math"
	"testing"
)

func TestAppendFloat(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", -2.5: "-2.5", 0.1: "0.1", 1e-9: "0.000000001", 100: "100.0",
		1e21: "1000000000000000000000.0", math.Inf(1): "0.0", math.NaN(): "0.0",
	} {
		if got := string(appendFloat(nil, f)); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}
