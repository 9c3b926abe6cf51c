package power

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// recorded makes a recording of lines like those of strace, in which strings
// stand in quotes as they are.
func recorded(t *testing.T, lines ...string) *recording {
	t.Helper()
	r := newRecording("test", "/r")
	var text strings.Builder
	for _, line := range lines {
		parts := strings.Split(line, `"`)
		for i := 1; i < len(parts); i += 2 {
			hex := ""
			for _, c := range []byte(parts[i]) {
				hex += fmt.Sprintf(`\x%02x`, c)
			}
			parts[i] = `"` + hex + `"`
		}
		text.WriteString("1 " + strings.Join(parts, "") + "\n")
	}
	calls, _, err := parseTrace(strings.NewReader(text.String()), 0)
	if err != nil {
		t.Fatal(err)
	}
	w := newWatcher(r, invocation{Phase: phaseRender})
	k := &kernel{r: r, watch: w, cwd: r.dir, fds: map[int64]*description{}, phase: w.phaseOf}
	if err := k.run(calls); err != nil {
		t.Fatal(err)
	}
	r.settle(allSyncs)
	return r
}

// judged returns what is wrong with states after the last line.
func judged(t *testing.T, r *recording) map[string]bool {
	t.Helper()
	j := newJudge(r, t.TempDir())
	defer j.close()
	points := r.points()
	wrong := map[string]bool{}
	for _, s := range r.states(points[len(points)-1], 200, 7) {
		if err := j.check(s); err != nil {
			wrong[err.Error()] = true
		}
	}
	return wrong
}

func TestRenderedFiles(t *testing.T) {
	const (
		create = `openat(-100, ".f.tmp", 0x80041, 0644) = 3`
		write  = `write(3, "content", 7) = 7`
		sync   = `fsync(3) = 0`
		shut   = `close(3) = 0`
		rename = `renameat(-100, ".f.tmp", -100, "f") = 0`
		folder = `openat(-100, ".", 0x80000) = 4`
		names  = `fsync(4) = 0`
		exit   = `exit_group(0) = ?`
	)
	for _, tt := range []struct {
		name  string
		lines []string
		wrong []string
	}{
		{"as it should be", []string{create, write, sync, shut, rename, folder, names, exit}, nil},
		{"content is not synced", []string{create, write, shut, rename, folder, names, exit},
			[]string{"f: 0 bytes that are not the 7 that were meant", "f: 7 bytes that are not the 7 that were meant"}},
		{"content is synced under its name", []string{create, write, rename, folder, names, sync, exit}, nil},
		{"folder is not synced", []string{create, write, sync, shut, rename, exit},
			[]string{"the program ended with code 0, and f is as it was before"}},
		{"nothing was promised", []string{create, write, sync, shut, rename}, nil},
		{"nothing was named", []string{create, write, exit}, nil},
		{"a folder in which nothing is lost but itself", []string{`mkdirat(-100, "d", 0777) = 0`, `chdir("d") = 0`, create, write, sync, rename, folder, names, exit},
			[]string{"the program ended with code 0, and the folder of f is not there"}},
	} {
		wrong := slices.Sorted(maps.Keys(judged(t, recorded(t, tt.lines...))))
		if !slices.Equal(wrong, tt.wrong) {
			t.Errorf("%s: %q", tt.name, wrong)
		}
	}
}

// A write that ends after a sync began is not covered by it.
func TestSyncCoversWhatCameBefore(t *testing.T) {
	r := recorded(t,
		`openat(-100, "x.tmp", 0x80041, 0644) = 3`,
		`pwrite64(3, "one", 3, 0) = 3`,
		`fdatasync(3 <unfinished ...>`,
		`<... fdatasync resumed>) = 0`,
		`pwrite64(3, "two", 3, 3) = 3`,
		`ftruncate(3, 100) = 0`,
	)
	open := r.open(r.lines + 100)
	if len(r.ops) != 4 || len(open) != 3 || open[0] != r.names[0] {
		t.Errorf("%d of %d operations are open", len(open), len(r.ops))
	}
	for _, b := range r.barriers {
		inside := &op{enter: b.enter - 1, exit: b.enter + 1, node: b.node}
		before := &op{enter: b.enter - 2, exit: b.enter - 1, node: b.node}
		if b.covers(inside) || !b.covers(before) {
			t.Error("a sync covers what had not ended when it began, or not what had")
		}
	}
}

func TestTornWrite(t *testing.T) {
	n := &node{}
	base := &op{node: n, data: bytes.Repeat([]byte("a"), 2000), durable: 0}
	torn := &op{node: n, off: 500, data: bytes.Repeat([]byte("b"), 600), durable: never}
	n.ops = []*op{base, torn}
	if torn.sectors() != 3 {
		t.Fatalf("%d sectors", torn.sectors())
	}
	for _, tt := range []struct {
		kept []bool
		b    string // where the content is b
	}{
		{[]bool{true, false, false}, "500-512"},
		{[]bool{false, true, false}, "512-1024"},
		{[]bool{false, false, true}, "1024-1100"},
		{[]bool{true, true, true}, "500-1100"},
		{[]bool{false, false, false}, "-1-0"}, // nowhere
	} {
		s := &state{point: point{line: 1}, fates: map[*op]fate{torn: {kept: true, sectors: tt.kept}}}
		content := string(s.content(n))
		if got := fmt.Sprintf("%d-%d", strings.Index(content, "b"), strings.LastIndex(content, "b")+1); got != tt.b || len(content) != 2000 {
			t.Errorf("sectors %v: %s", tt.kept, got)
		}
	}
	grown := &op{node: n, off: 2000, data: []byte("longer"), durable: never}
	n.ops = append(n.ops, grown)
	s := &state{point: point{line: 1}, fates: map[*op]fate{grown: {grown: true}}}
	if content := s.content(n); len(content) != 2006 || content[2005] != 0 {
		t.Errorf("a lost write that made the file longer: %d bytes", len(content))
	}
}

// The names of a state follow from the operations that are kept, and a name
// whose change was lost keeps no later one.
func TestNamesKeepTheirOrder(t *testing.T) {
	dir, a, b := &node{dir: true}, &node{id: 1}, &node{id: 2}
	place := place{dir, "f"}
	first := &op{entries: []entry{{place, a}}, durable: never}
	second := &op{entries: []entry{{place, b}}, durable: never}
	c := &chooser{open: []*op{first, second}, fates: map[*op]fate{second: {kept: true}}}
	if c.keepNamesInOrder(); len(c.fates) != 0 {
		t.Error("the second change of a name is kept and the first is not")
	}
	c.fates[first] = fate{kept: true}
	if c.keepNamesInOrder(); len(c.fates) != 1 {
		t.Error("the first change of a name was lost")
	}
}

func TestParseTrace(t *testing.T) {
	calls, next, err := parseTrace(strings.NewReader(
		"7  close(3)                          = 0\n"+
			"7  openat(-100, \"\\x61\", 0x80000) = -1 ENOENT (No such file or directory)\n"+
			"8  write(4, \"\\x0a\\xff\", 2 <unfinished ...>\n"+
			"7  writev(5, [{iov_base=\"\\x01\", iov_len=1}, {iov_base=\"\\x02\\x03\", iov_len=2}], 2) = 3\n"+
			"8  <... write resumed>)              = 1\n"+
			"7  exit_group(3 <unfinished ...>\n"), 10)
	if err != nil || next != 16 || len(calls) != 5 {
		t.Fatalf("%d calls, next line %d, %v", len(calls), next, err)
	}
	for i, want := range []string{"7 close 10 10 0", "7 openat 11 11 -1", "8 write 12 14 1", "7 writev 13 13 3", "7 exit_group 15 0 -1"} {
		c := calls[i]
		exit := c.exit
		if exit == never {
			exit = 0
		}
		if got := fmt.Sprintf("%d %s %d %d %d", c.thread, c.name, c.enter, exit, c.ret); got != want {
			t.Errorf("call %d: %s, want %s", i, got, want)
		}
	}
	if b, err := calls[3].bytes(1); err != nil || !bytes.Equal(b, []byte{1, 2, 3}) {
		t.Errorf("bytes %x, %v", b, err)
	}
	if b, err := calls[2].bytes(1); err != nil || !bytes.Equal(b, []byte{10, 255}) {
		t.Errorf("bytes %x, %v", b, err)
	}
	cut := call{name: "write", args: []string{"3", `"\x61"...`}}
	if _, err := cut.bytes(1); err == nil {
		t.Error("a string that strace cut is taken for whole")
	}
}

func TestRequests(t *testing.T) {
	r := newRecording("test", "/r")
	w := newWatcher(r, invocation{Phase: phaseRun, Rows: 3})
	s := w.stream()
	body := `{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}]}`
	text := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	for line, part := range []string{text[:30], text[30:100], text[100:] + text[:7], text[7:]} {
		if err := s.write(line+50, []byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.acks) != 2 || r.acks[0].line != 50 || r.acks[1].line != 52 {
		t.Fatalf("acks %+v", r.acks)
	}
	for _, tt := range []struct {
		turns []string
		fine  bool
	}{
		{nil, false},
		{[]string{"\n1 f {}"}, true},
		{[]string{"\n1 f {}", "more"}, true},
		{[]string{"\n1 f {\"a\":1}"}, false},
	} {
		one := &session{}
		for _, text := range tt.turns {
			one.turns = append(one.turns, turn{text: text})
		}
		f := &facts{byText: map[string]*session{"hi": one}}
		if err := r.acks[0].need(f); (err == nil) != tt.fine {
			t.Errorf("turns %q: %v", tt.turns, err)
		}
	}
}

func TestCallNeedsWhatCameBefore(t *testing.T) {
	f := &facts{sessions: []*session{{turns: []turn{
		{step: 1, calls: []string{"terminal"}, results: 1},
		{step: 3, calls: []string{"read_file", "terminal"}, results: 0},
	}}}}
	for _, tt := range []struct {
		step, call int
		fine       bool
	}{{1, 0, true}, {3, 0, true}, {3, 1, false}, {3, 2, false}, {4, 0, false}} {
		if err := hasCall(0, 0, tt.step, tt.call)(f); (err == nil) != tt.fine {
			t.Errorf("call %d of step %d: %v", tt.call, tt.step, err)
		}
	}
	f.sessions[0].turns[0].results = 0
	if hasCall(0, 0, 3, 0)(f) == nil {
		t.Error("a result of an earlier turn is not missed")
	}
}
