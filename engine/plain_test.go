package engine

import (
	"bytes"
	"io"
	"testing"
)

func TestPlainWriter(t *testing.T) {
	var out bytes.Buffer
	w := PlainWriter(&out)
	for _, part := range []string{"gr\xc3", "\xbc\xc3\x9fe\t\x1b]0;x\x07\n", "\u009b2J \u202etxet", "\r\x7f end"} {
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "grüße\t?]0;x?\n?2J ?txet?? end"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
