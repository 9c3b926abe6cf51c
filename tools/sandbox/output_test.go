package sandbox

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOutput(t *testing.T) {
	for _, test := range []struct {
		name       string
		head, tail int
		in, want   string
		dropped    int64
	}{
		{"nothing", 4, 4, "", "", 0},
		{"just fits", 4, 4, "12345678", "12345678", 0},
		{"one too many", 4, 4, "123456789", "1234\n[... 1 bytes of output dropped ...]\n6789", 1},
		{"head ends a line", 4, 4, "123\n56789", "123\n[... 1 bytes of output dropped ...]\n6789", 1},
		{"only head", 4, 0, "12345", "1234\n[... 1 bytes of output dropped ...]\n", 1},
		{"only tail", 0, 4, "12345", "[... 1 bytes of output dropped ...]\n2345", 1},
		{"neither", 0, 0, "12345", "[... 5 bytes of output dropped ...]\n", 5},
		{"characters", 4, 4, "abcżxyźabc", "abc\n[... 6 bytes of output dropped ...]\nabc", 6},
		{"whole characters", 5, 5, "abcżxxźabc", "abcż\n[... 2 bytes of output dropped ...]\nźabc", 2},
		{"four bytes", 3, 3, "🙂🙂", "[... 8 bytes of output dropped ...]\n", 8},
		{"character over the seam", 3, 5, "ab🙂cd", "ab🙂cd", 0},
		{"invalid", 10, 10, "a\xf0\x00\xff ok", "a\uFFFD\x00\uFFFD ok", 0},
		{"invalid at the cut", 3, 3, "ab\xff\xffXX\xffyz", "ab\uFFFD\n[... 3 bytes of output dropped ...]\n\uFFFDyz", 3},
		{"continuation bytes at the cut", 3, 3, "ab\x80....\x80yz", "ab\uFFFD\n[... 5 bytes of output dropped ...]\nyz", 5},
		{"a surrogate", 10, 10, "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD", 0},
	} {
		for _, chunk := range []int{1, 3, 1000} {
			o := newOutput(test.head, test.tail)
			for b := []byte(test.in); len(b) > 0; {
				n := min(chunk, len(b))
				if k, err := o.Write(b[:n]); k != n || err != nil {
					t.Fatal(k, err)
				}
				b = b[n:]
			}
			got, dropped := o.text()
			if string(got) != test.want || dropped != test.dropped {
				t.Errorf("%s in pieces of %d: %q, dropped %d; want %q, %d", test.name, chunk, got, dropped, test.want, test.dropped)
			}
		}
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("zażółć gęślą"), 3, 4, 2)
	f.Add([]byte("\xf0\x9f\x99\x82\xff\x80"), 1, 1, 1)
	f.Add(bytes.Repeat([]byte("x"), 100), 0, 7, 3)
	f.Fuzz(func(t *testing.T, in []byte, head, tail, chunk int) {
		head, tail, chunk = head&0xff, tail&0xff, 1+chunk&0x3f
		o := newOutput(head, tail)
		for b := in; len(b) > 0; {
			n := min(chunk, len(b))
			_, _ = o.Write(b[:n])
			b = b[n:]
		}
		got, dropped := o.text()
		if !utf8.Valid(got) {
			t.Fatalf("%q is not valid", got)
		}
		if len(in) <= head+tail {
			if dropped != 0 || utf8.Valid(in) && !bytes.Equal(got, in) {
				t.Fatalf("%q came as %q, dropped %d", in, got, dropped)
			}
			return
		}
		before, after, ok := strings.Cut(string(got), fmt.Sprintf("[... %d bytes of output dropped ...]\n", dropped))
		kept := int64(len(in)) - dropped
		if !ok || kept > int64(head+tail) || kept < int64(head+tail)-6 {
			t.Fatalf("%q, kept %d of %d", got, kept, head+tail)
		}
		if utf8.Valid(in) && (!strings.HasPrefix(string(in), strings.TrimSuffix(before, "\n")) || !strings.HasSuffix(string(in), after)) {
			t.Fatalf("%q is not the ends of %q", got, in)
		}
	})
}

func TestForget(t *testing.T) {
	o := newOutput(4, 4)
	fmt.Fprint(o, "1234567890")
	o.seal()
	o.forget()
	fmt.Fprint(o, strings.Repeat("x", 1000))
	if cap(o.head)+cap(o.tail) != 0 {
		t.Errorf("keeps %q and %q", o.head, o.tail)
	}
}
