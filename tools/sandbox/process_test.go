package sandbox

import (
	"os"
	"reflect"
	"strconv"
	"testing"
)

func TestParseStat(t *testing.T) {
	tail := " S 10 42 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 100 200"
	for text, want := range map[string]process{
		"42 (bash)" + tail:                {pid: 42, parent: 10, group: 42, session: 7, start: 12345},
		"42 (a b) (c))" + tail:            {pid: 42, parent: 10, group: 42, session: 7, start: 12345},
		"42 (x\n) Z" + tail[2:] + "\n":    {pid: 42, parent: 10, group: 42, session: 7, start: 12345, zombie: true},
		"42 (bash" + tail:                 {},
		"":                                {},
		"42 (bash) S 1 2":                 {},
		"x (bash)" + tail:                 {},
		"42 (bash) S x" + tail[5:]:        {},
		"99999999999999999999 (b)" + tail: {},
	} {
		got, err := parseStat([]byte(text))
		if (err != nil) != (want == process{}) || err == nil && got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	self, err := readProcess("self")
	if err != nil || self.pid != os.Getpid() || self.parent != os.Getppid() || self.start == 0 {
		t.Errorf("self is %+v, %v", self, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a b) (c)) S 10 42 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 100 200"))
	f.Add([]byte(") ("))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = parseStat(b) })
}

func TestDescendants(t *testing.T) {
	list := []process{{pid: 1}, {pid: 2, parent: 1}, {pid: 3, parent: 2}, {pid: 4, parent: 1}, {pid: 5, parent: 3}, {pid: 6, parent: 4}}
	var got []int
	for _, p := range descendants(list, 2) {
		got = append(got, p.pid)
	}
	if !reflect.DeepEqual(got, []int{3, 5}) {
		t.Errorf("descendants of 2: %v", got)
	}
}

func TestMembers(t *testing.T) {
	r := record{Group: 50, GroupStart: 100}
	old := process{pid: 60, session: 50, start: 110}
	for name, test := range map[string]struct {
		list []process
		want int
	}{
		"shell lives":       {[]process{{pid: 50, session: 50, start: 100}, old}, 2},
		"shell is gone":     {[]process{old, {pid: 61, session: 61, start: 120}}, 1},
		"number given anew": {[]process{{pid: 50, session: 50, start: 200}, {pid: 70, session: 50, start: 210}}, 0},
		"older":             {[]process{{pid: 60, session: 50, start: 90}}, 0},
		"zombie":            {[]process{{pid: 60, session: 50, start: 110, zombie: true}}, 0},
	} {
		if got := members(test.list, r); len(got) != test.want {
			t.Errorf("%s: %+v, want %d", name, got, test.want)
		}
	}
}

// A pid that was given to another process meanwhile is left alone.
func TestSignalKnowsTheProcess(t *testing.T) {
	self, err := readProcess(strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	self.start--
	if err := self.signal(9); err != os.ErrProcessDone {
		t.Errorf("signal = %v", err)
	}
}

func TestValidKey(t *testing.T) {
	for key, want := range map[string]bool{"0-1-2": true, "a.b_C": true, "..": false, ".": false, "": false, "a/b": false, "é": false, "a b": false, "...": true} {
		if validKey(key) != want {
			t.Errorf("validKey(%q) = %v", key, !want)
		}
	}
}
