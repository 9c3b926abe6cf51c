package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"hermes-batch/db"
)

// readRows reads a whole dataset.
func readRows(in io.Reader, limit int) (rows []row, bad []db.BadLine, err error) {
	reader := newRowReader(in)
	if limit > 0 {
		reader.limit = limit
	}
	for {
		r, err := reader.next()
		var skipped *badRow
		switch {
		case errors.As(err, &skipped):
			bad = append(bad, skipped.BadLine)
		case errors.Is(err, io.EOF):
			return rows, bad, nil
		case err != nil:
			return rows, bad, err
		default:
			rows = append(rows, *r)
		}
	}
}

func TestRows(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		name, data string
		rows       []string // line text|image|cwd|extra
		bad        []string // line reason, from its beginning
	}{
		{"plain", `{"prompt":"a"}`, []string{`1 a|||{}`}, nil},
		{"prompts of other types", `{"prompt":"a"}` + "\n" + `{"prompt":123}` + "\n" + `{"prompt":null}` + "\n" + `{"prompt":["x"]}` + "\n" + `{"prompt":"b"}`,
			[]string{`1 a|||{}`, `5 b|||{}`},
			[]string{`2 "prompt" is a number`, `3 "prompt" is missing or empty`, `4 "prompt" is a list`}},
		{"more types", `{"prompt":true}` + "\n" + `{"prompt":{"a":1}}` + "\n" + `{"prompt":""}` + "\n" + `{"Prompt":"a"}`, nil,
			[]string{`1 "prompt" is a boolean`, `2 "prompt" is an object`, `3 "prompt" is missing or empty`, `4 "prompt" is missing or empty`}},
		{"a blank prompt is a prompt", `{"prompt":" "}`, []string{`1  |||{}`}, nil},
		{"mark, carriage returns, no last line end", "\ufeff" + `{"prompt":"p1"}` + "\r\n" + `{"prompt":"p2"}`, []string{`1 p1|||{}`, `2 p2|||{}`}, nil},
		{"mark alone on the first line", "\ufeff\n" + `{"prompt":"a"}`, []string{`2 a|||{}`}, nil},
		{"mark on a later line", `{"prompt":"a"}` + "\n\ufeff" + `{"prompt":"b"}`, []string{`1 a|||{}`}, []string{`2 not valid JSON`}},
		{"mark inside a prompt stays", `{"prompt":"` + "\ufeff" + `a"}`, []string{"1 \ufeffa|||{}"}, nil},
		{"blank lines", "\n  \n\t\r\n" + `{"prompt":"a"}` + "\n\n" + `{"prompt":"b"}` + "\n\n\n", []string{`4 a|||{}`, `6 b|||{}`}, nil},
		{"nothing", "", nil, nil},
		{"a mark and nothing else", "\ufeff", nil, nil},
		{"another encoding", `{"prompt":"a"}` + "\n" + "{\"prompt\":\"caf\xe9\"}\n" + `{"prompt":"b"}`,
			[]string{`1 a|||{}`, `3 b|||{}`}, []string{`2 not valid UTF-8 at byte 15`}},
		{"no JSON", `{"prompt":"a"` + "\n" + `{"prompt":"a"} x` + "\n" + `{'prompt':'a'}` + "\n" + `{"prompt":"a","n":NaN}` + "\n" + `{"prompt":"a",}`, nil,
			[]string{`1 not valid JSON`, `2 not valid JSON`, `3 not valid JSON`, `4 not valid JSON`, `5 not valid JSON`}},
		{"no object", `["a"]` + "\n" + `"a"` + "\n" + `5` + "\n" + `null` + "\n" + `{}`, nil,
			[]string{`1 not a JSON object`, `2 not a JSON object`, `3 not a JSON object`, `4 not a JSON object`, `5 "prompt" is missing`}},
		{"zero bytes", "{\"prompt\":\"a\x00b\"}\n" + `{"prompt":"a\u0000b"}` + "\n" + `{"prompt":"a","cwd":"x\u0000y"}` + "\n\x00",
			[]string{"2 a\x00b|||{}"}, []string{`1 not valid JSON`, `3 "cwd" holds a NUL`, `4 not valid JSON`}},
		{"absent by null and empty", `{"prompt":"a","image":null,"docker_image":"","cwd":null}` + "\n" + `{"prompt":"a","image":"","cwd":""}`,
			[]string{`1 a|||{}`, `2 a|||{}`}, nil},
		{"image under both names", `{"prompt":"a","image":"x"}` + "\n" + `{"prompt":"a","docker_image":"x"}` + "\n" + `{"prompt":"a","image":"x","docker_image":"x"}` + "\n" +
			`{"prompt":"a","image":null,"docker_image":"x"}` + "\n" + `{"prompt":"a","image":"x","docker_image":"y"}`,
			[]string{`1 a|x||{}`, `2 a|x||{}`, `3 a|x||{}`, `4 a|x||{}`}, []string{`5 "image" and "docker_image" name different images`}},
		{"types of the other fields", `{"prompt":"a","image":5}` + "\n" + `{"prompt":"a","docker_image":[]}` + "\n" + `{"prompt":"a","cwd":false}` + "\n" + `{"prompt":"a","cwd":"d"}`,
			[]string{`4 a||d|{}`}, []string{`1 "image" is a number`, `2 "docker_image" is a list`, `3 "cwd" is a boolean`}},
		{"of repeated keys the last one counts", `{"prompt":"a","k":1,"prompt":"b","k":[2]}`, []string{`1 b|||{"k": [2]}`}, nil},
		{"escaped keys", `{"pr\u006fmpt":"a","\u006b":1}`, []string{`1 a|||{"\u006b": 1}`}, nil},
		{"other keys stay byte for byte", `{"z":9007199254740993,"prompt":"p","a":1e400,"s":"\u00e9\/<&","o":{"y":1.0, "x":-0},"e":{}}`,
			[]string{`1 p|||{"z": 9007199254740993, "a": 1e400, "s": "\u00e9\/<&", "o": {"y":1.0, "x":-0}, "e": {}}`}, nil},
		{"identifiers and lists", `{"prompt":"p","task_id":"T-7","tags":["a"]}`, []string{`1 p|||{"task_id": "T-7", "tags": ["a"]}`}, nil},
		{"deep nesting", `{"prompt":"a","d":` + deep(9000) + `}` + "\n" + `{"prompt":"b","d":` + deep(200_000) + `}` + "\n" + `{"prompt":"c"}`,
			[]string{`1 a|||{"d": ` + deep(9000) + `}`, `3 c|||{}`}, []string{`2 not valid JSON`}},
		{"lone surrogates", `{"prompt":"bad \ud800 end","k":"\udfff\ud83d\ude00\\ud800"}`,
			[]string{"1 bad \ufffd end|||" + `{"k": "\ufffd\ud83d\ude00\\ud800"}`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, bad, err := readRows(strings.NewReader(c.data), 0)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range rows {
				got := fmt.Sprintf("%d %s|%s|%s|%s", r.line, r.text, r.image, r.cwd, r.extra)
				if i >= len(c.rows) || got != c.rows[i] {
					t.Errorf("row %d is %.200q", i, got)
				}
			}
			if len(rows) < len(c.rows) {
				t.Errorf("rows %.200q are missing", c.rows[len(rows):])
			}
			if len(bad) != len(c.bad) {
				t.Fatalf("bad lines %v, want %q", bad, c.bad)
			}
			for i, b := range bad {
				if got := fmt.Sprintf("%d %s", b.Line, b.Reason); !strings.HasPrefix(got, c.bad[i]) {
					t.Errorf("bad line %d is %q, want %q", i, got, c.bad[i])
				}
				if b.Hint == "" {
					t.Errorf("bad line %d comes without a hint", i)
				}
			}
		})
	}
}

func TestLinesOverTheLimit(t *testing.T) {
	long := `{"prompt":"` + strings.Repeat("x", 3<<20) + `"}`
	for _, end := range []string{"\n", "\r\n", ""} {
		data := `{"prompt":"a"}` + "\n" + long + "\n" + `{"prompt":"b"}` + "\n" + long + end
		rows, bad, err := readRows(strings.NewReader(data), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 2 || rows[0].text != "a" || rows[1].text != "b" || rows[1].line != 3 {
			t.Errorf("rows are %v", rows)
		}
		if len(bad) != 2 || bad[0].Line != 2 || bad[1].Line != 4 || bad[0].Reason != "line is longer than 1 MiB" {
			t.Errorf("bad lines are %v", bad)
		}
	}
}

func TestLineOfExactlyTheLimit(t *testing.T) {
	line := `{"prompt":"abc"}`
	for _, c := range []struct{ limit, rows int }{{len(line) + 1, 1}, {len(line) - 1, 0}} {
		rows, bad, err := readRows(strings.NewReader(line+"\n"), c.limit)
		if err != nil || len(rows) != c.rows || len(bad) != 1-c.rows {
			t.Errorf("limit %d: %d rows, %v, %v", c.limit, len(rows), bad, err)
		}
	}
}

// A dataset that cannot be read to its end must not pass for a shorter one.
// Lines that are nested without end are bad ones, each by itself, and do not
// overflow the stack, which is made small for this.
func TestDeepLines(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(32 << 20))
	deep := func(open, end string) string { return strings.Repeat(open, 1_000_000) + strings.Repeat(end, 1_000_000) }
	lines := []string{deep("[", "]"), deep(`{"prompt":`, "}"), `{"prompt": "x", "y": ` + deep("[", "]") + "}", `{"prompt": ` + deep(`{"a":`, ""), `{"prompt": "last"}`}
	rows, bad, err := readRows(strings.NewReader(strings.Join(lines, "\n")), 100<<20)
	if err != nil || len(rows) != 1 || rows[0].text != "last" || len(bad) != len(lines)-1 {
		t.Errorf("%d rows, %v, %v", len(rows), bad, err)
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	in := io.MultiReader(strings.NewReader(`{"prompt":"a"}`+"\n"+`{"prompt":"b"`), iotest.ErrReader(broken))
	rows, bad, err := readRows(in, 0)
	if !errors.Is(err, broken) || len(rows) != 1 || len(bad) != 0 {
		t.Errorf("rows %v, bad %v, error %v", rows, bad, err)
	}
}

func TestDigestIsTheFiles(t *testing.T) {
	const data = "\ufeff" + `{"prompt":"a"}` + "\r\n\n" + `{"prompt":"b"}`
	reader := newRowReader(strings.NewReader(data))
	if _, err := reader.next(); err != nil {
		t.Fatal(err)
	}
	if err := reader.drain(); err != nil {
		t.Fatal(err)
	}
	f, err := spool(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if want, err := digestOf(f); err != nil || reader.digest() != want {
		t.Errorf("digest %s, want %s (%v)", reader.digest(), want, err)
	}
}

// echoes answers every prompt with its length.
func echoes(a ask) (int, string) { return says(fmt.Sprint(len(a.Prompt))) }

func TestLongLineArrivesWhole(t *testing.T) {
	b := newBench(t, echoes)
	size := 12 << 20
	if underRace {
		size /= 8
	}
	long := strings.Repeat("long ", size/5)
	b.prompts("first", long, "last")
	b.mustRun()
	b.wantEnds(answered, answered, answered)
	if got, want := b.talk(1)[0], fmt.Sprintf(`"value":"%d"`, len(long)); !strings.Contains(got, want) {
		t.Errorf("the long prompt was answered by %s, want %s", got, want)
	}
}

// The verdict on bad rows is the same in a fresh run and in a resume.
func TestBadRowsAreSkipped(t *testing.T) {
	b := newBench(t, echoes)
	b.dataset(`{"prompt":"a"}`, `{"prompt":123}`, `{"prompt":null}`, `{"prompt":["x"]}`, `{"prompt":"b"}`)
	b.mustRun()
	b.mustRun(resume)
	b.wantEnds(answered, answered)
	b.model.wantCount(2)
	b.read(func(s *db.Store) {
		var lines []int
		err := s.BadLines(func(l db.BadLine) error { lines = append(lines, l.Line); return nil })
		if err != nil || fmt.Sprint(lines) != "[2 3 4]" {
			t.Errorf("bad lines %v, %v", lines, err)
		}
	})
}

func TestLoneSurrogateIsReplacedOnce(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) { return says(a.Prompt) })
	b.dataset(`{"prompt":"bad \ud800 end","k":"\udc00"}`)
	b.mustRun()
	b.mustRun(resume)
	b.dataset(`{"prompt":"other"}`, `{"prompt":"bad \ud800 end","k":"\udc00"}`) // read anew
	b.mustRun(resume)
	b.model.wantCount(2)
	b.read(func(s *db.Store) {
		p, err := s.Prompt(0)
		if err != nil || p.Text != "bad \ufffd end" || string(p.Extra) != `{"k": "\ufffd"}` {
			t.Errorf("stored %q %s, %v", p.Text, p.Extra, err)
		}
	})
	for _, a := range b.model.since(0) {
		if !utf8.ValidString(a.Body) || !strings.Contains(a.Body, "bad \ufffd end") && a.Prompt != "other" {
			t.Errorf("sent %q", a.Body)
		}
	}
}

// A pipe is read once, and known again.
func TestPipeAsDataset(t *testing.T) {
	feed := func(t *testing.T, w io.WriteCloser) {
		defer w.Close()
		if _, err := io.WriteString(w, `{"prompt":"a"}`+"\n"+`{"prompt":"b"}`+"\n"); err != nil {
			t.Error(err)
		}
	}
	t.Run("by name", func(t *testing.T) {
		b := newBench(t, echoes)
		if err := syscall.Mkfifo("data.jsonl", 0o600); err != nil {
			t.Fatal(err)
		}
		for _, change := range []func(*Options){oneWorker, resume} {
			fed := make(chan bool)
			go func() {
				defer close(fed)
				w, err := os.OpenFile("data.jsonl", os.O_WRONLY, 0)
				if err != nil {
					t.Error(err)
					return
				}
				feed(t, w)
			}()
			b.mustRun(change)
			<-fed
		}
		b.wantEnds(answered, answered)
		b.model.wantCount(2)
	})
	t.Run("by descriptor", func(t *testing.T) {
		b := newBench(t, echoes)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		go feed(t, w)
		b.mustRun(func(o *Options) { o.DatasetFile = fmt.Sprintf("/dev/fd/%d", r.Fd()) })
		b.wantEnds(answered, answered)
	})
}

// A dataset that cannot be used is refused before anything exists.
func TestUselessDataset(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T)
		want string
	}{
		"missing":   {func(*testing.T) {}, "no such file"},
		"a folder":  {func(t *testing.T) { os.Mkdir("data.jsonl", 0o777) }, "is a folder"},
		"empty":     {func(t *testing.T) { writeFile(t, "data.jsonl", "") }, "holds no prompts"},
		"blank":     {func(t *testing.T) { writeFile(t, "data.jsonl", "\n \n") }, "holds no prompts"},
		"bad lines": {func(t *testing.T) { writeFile(t, "data.jsonl", "\n{}\nx\n") }, "no valid row; 2 bad lines, the first: line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, echoes)
			c.make(t)
			err := b.run(t.Context())
			if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if there, _ := exists("data"); there {
				t.Error("a folder was made")
			}
			b.model.wantCount(0)
		})
	}
}

func FuzzRows(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff", `{"prompt":"a"}`, "\ufeff" + `{"prompt":"a"}` + "\r\n", `{"prompt":1}` + "\n" + `{"prompt":"b","k":[1e400,"\ud800"]}`,
		`{"prompt":"a","prompt":"b","k":1,"k":2}`, `{"prompt":"a","image":"x","docker_image":"y"}`, `{"prompt":"a","cwd":"\u0000"}`,
		`{"a":{"prompt":"b"},"prompt":"\ud83d\ude00\ud83d"}`, "\x00\n\xff\n[\n", `{"prompt":"\\ud800","\ud800":1,"\ud801":2}`, `{ "prompt" :	"a" , "x" : null }`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, bad, err := readRows(bytes.NewReader(data), 0)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(data, []byte("\n"))
		lines[0] = bytes.TrimPrefix(lines[0], []byte("\ufeff"))
		full := 0
		for _, line := range lines {
			if len(bytes.TrimSpace(line)) > 0 {
				full++
			}
		}
		if full != len(rows)+len(bad) {
			t.Fatalf("%d lines, %d rows and %d bad ones", full, len(rows), len(bad))
		}
		again, _, _ := readRows(bytes.NewReader(data), 0)
		for i, r := range rows {
			if r.text == "" || !utf8.ValidString(r.text+r.image+r.cwd) {
				t.Errorf("row %+v", r)
			}
			if r.key() != again[i].key() {
				t.Errorf("row %d is another one at the second reading", i)
			}
			compareExtra(t, lines[r.line-1], r.extra)
		}
	})
}

// compareExtra checks that extra holds the line's other keys with their bytes.
func compareExtra(t *testing.T, line, extra []byte) {
	t.Helper()
	var want, got map[string]json.RawMessage
	if err := json.Unmarshal(replaceLoneSurrogates(line), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(extra, &got); err != nil || got == nil {
		t.Fatalf("extra %q: %v", extra, err)
	}
	for _, name := range []string{"prompt", "image", "docker_image", "cwd"} {
		delete(want, name)
	}
	if len(got) != len(want) {
		t.Errorf("extra %s of %s", extra, line)
	}
	for name, value := range want {
		if !bytes.Equal(got[name], value) {
			t.Errorf("extra %s: %q is %s, want %s", extra, name, got[name], value)
		}
	}
}

// The replacement changes no meaning: encoding/json reads a lone surrogate as
// U+FFFD too.
func FuzzLoneSurrogates(f *testing.F) {
	for _, seed := range []string{`"\ud800"`, `"\udc00\ud800"`, `"\ud83d\ude00"`, `"\\ud800"`, `"\\\ud800x"`, `"\ud800\ud83d\ude00"`, `"\uD800\uDBFF\uDFFF"`, `{"\ud800":"\u00e9"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Skip()
		}
		replaced := replaceLoneSurrogates(text)
		var before, after any
		if json.Unmarshal(text, &before) != nil {
			t.Skip() // a number that no float64 holds
		}
		if err := json.Unmarshal(replaced, &after); err != nil || fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("%s became %s", text, replaced)
		}
		if again := replaceLoneSurrogates(replaced); !bytes.Equal(again, replaced) {
			t.Errorf("%s is replaced again to %s", replaced, again)
		}
	})
}
