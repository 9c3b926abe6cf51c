package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-batch/db"
	"hermes-batch/tools/sandbox"
)

// full is all of a prompt's result number n, as the store has it.
func (b *bench) full(index, n int) string {
	b.t.Helper()
	var full bytes.Buffer
	b.read(func(s *db.Store) {
		results := records[*db.Result](b.t, s, index)
		if _, err := s.WriteFull(&full, results[n]); err != nil {
			b.t.Error(err)
		}
	})
	return full.String()
}

// A long output is head and tail for the model and in the row, a file for the
// model to read, and whole in the store; a key in it is in none of the last two.
func TestLongOutputIsKept(t *testing.T) {
	file := ""
	b := newBench(t, func(a ask) (int, string) {
		switch a.Turn {
		case 0:
			// The key goes over the end of the first piece.
			return shell(fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo '%s'; seq 100000; printf '\377\000 end'`, fullPiece-10, canary))
		case 1:
			var r struct {
				Output string
				File   string `json:"full_output"`
			}
			if err := json.Unmarshal([]byte(a.Results[0]), &r); err != nil || len(r.Output) > 51_000 {
				t.Errorf("%v: the model was shown %d bytes", err, len(r.Output))
			}
			file = r.File
			return calls("read_file", fmt.Sprintf(`{"path":%q,"offset":1000,"limit":1}`, file))
		}
		return says(a.Results[1])
	})
	b.prompts("a")
	b.mustRun(func(o *Options) { o.APIKey = canary })
	b.wantEnds(answered)
	talk := b.talk(0)
	if last := talk[len(talk)-1]; !strings.Contains(last, `1000|999`) || file != ".hermes-results/0-1-0.txt" {
		t.Errorf("the model read %s in %s", last, file)
	}
	if len(talk[1]) > 80_000 || !strings.Contains(talk[1], "bytes of output dropped") {
		t.Errorf("the row's entry has %d bytes", len(talk[1]))
	}
	var want strings.Builder
	fmt.Fprintf(&want, "%s%s\n", strings.Repeat("x", fullPiece-10), maskText)
	for i := range 100_000 {
		fmt.Fprintln(&want, i+1)
	}
	want.WriteString("\xff\x00 end")
	if full := b.full(0, 0); full != want.String() {
		t.Errorf("the store has %d bytes of %d", len(full), want.Len())
	}
	if full := b.full(0, 1); full != "" {
		t.Errorf("a short result is kept twice: %q", full)
	}
	raw, err := os.ReadFile(storeFile())
	if err != nil || bytes.Contains(raw, []byte(canary)) {
		t.Errorf("the store file shows the key (%v)", err)
	}
	if left := folders(t); len(left) > 0 {
		t.Errorf("folders %q are left", left)
	}
}

// What is kept of fifty megabytes is bounded, and so is the store.
func TestHugeOutputIsBounded(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		if a.Turn == 0 {
			return shell("yes | head -c 50000000")
		}
		return says(a.Results[0])
	})
	b.prompts("a")
	b.mustRun()
	if talk := b.talk(0); !strings.Contains(talk[len(talk)-1], "the file ends after 16777216 bytes; the 33222784 bytes that follow were not kept") {
		t.Errorf("the model was told %.300s", talk[len(talk)-1])
	}
	if full := b.full(0, 0); full != strings.Repeat("y\n", sandbox.MaxFull/2) {
		t.Errorf("the store has %d bytes", len(full))
	}
	if info, err := os.Stat(storeFile()); err != nil || info.Size() > 20<<20 {
		t.Errorf("the store has %d bytes, %v", info.Size(), err)
	}
}

// The program is killed while a command writes; the resume does not run it
// again and finds all of its output.
func TestKilledDuringLongOutput(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		if a.Turn == 0 {
			return shell("seq 100000; touch ~/begun; until [ -e ~/go ]; do sleep 0.02; done; echo once >> ~/log; seq 100000; cat ~/log")
		}
		return says(strings.Join(a.Results, " "))
	})
	b.prompts("a")
	killed := b.child()
	var work string
	for deadline := time.Now().Add(time.Minute); work == "" && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if found, _ := filepath.Glob("state/*/0-0-a0/work/begun"); len(found) > 0 {
			work = filepath.Dir(found[0])
		}
	}
	killed.kill()
	writeFile(t, filepath.Join(work, "go"), "")
	b.mustRun(resume)
	b.wantEnds(answered)
	if out := b.outcome(0); out.ToolReruns != 0 || out.Attempts != 1 {
		t.Errorf("outcome %+v", out)
	}
	if full := b.full(0, 0); strings.Count(full, "\n100000\n") != 2 || !strings.HasSuffix(full, "\n100000\nonce\n") {
		t.Errorf("the store has %d bytes: … %q", len(full), full[max(0, len(full)-20):])
	}
	b.model.wantOnce()
}

// A command that removes its own file, and a work folder without room for one,
// cost the copy and nothing else.
func TestLongOutputThatIsGone(t *testing.T) {
	var log logBuffer
	b := newBench(t, func(a ask) (int, string) {
		switch a.Turn {
		case 0:
			return shell("seq 100000; until [ -e ~/.hermes-results/*.txt ]; do sleep 0.01; done; rm -r ~/.hermes-results; echo >~/.hermes-results")
		case 1:
			return shell("seq 100000")
		}
		return says(a.Results[1])
	})
	b.deps.Log = log.logger()
	b.prompts("a")
	b.mustRun()
	b.wantEnds(answered)
	talk := b.talk(0)
	if last := talk[len(talk)-1]; !strings.Contains(last, "could not be kept in a file: not a directory") || !strings.Contains(last, "100000") {
		t.Errorf("the model was told %.200s", last)
	}
	for n := range 2 {
		if full := b.full(0, n); full != "" {
			t.Errorf("the store has %d bytes of result %d", len(full), n)
		}
	}
	if strings.Count(log.String(), "not in the store") != 1 {
		t.Errorf("log: %s", log.String())
	}
}

// A long result of a process is kept once it has ended.
func TestLongProcessOutputIsKept(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		switch a.Turn {
		case 0:
			return calls("terminal", `{"command":"seq 100000","background":true}`)
		case 1:
			var r struct {
				ID string `json:"session_id"`
			}
			if err := json.Unmarshal([]byte(a.Results[0]), &r); err != nil {
				t.Error(err)
			}
			return calls("process", fmt.Sprintf(`{"action":"wait","session_id":%q}`, r.ID))
		}
		return says("done")
	})
	b.prompts("a")
	b.mustRun()
	b.wantEnds(answered)
	if full := b.full(0, 1); !strings.HasPrefix(full, "1\n2\n") || len(full) != 588_895 {
		t.Errorf("the store has %d bytes", len(full))
	}
}

// However a text is cut in pieces, what is masked is the same.
func TestMaskedPieces(t *testing.T) {
	m := newMask("0123456789abcdef", "short-secret", `with "quotes" more`)
	text := []byte(strings.Repeat("0123456789abcdef0123456789abcdef.short-secret-", 5) + `with \"quotes\" more 0123456789abcde` +
		"\xff\x00" + strings.Repeat("y", 100) + "with+%22quotes%22+more" + strings.Repeat("0123456789", 9) + "abcdef" + "0123456789abcd")
	want := string(m.bytes(text))
	if strings.Count(want, maskText) != 18 {
		t.Fatalf("masked: %q", want)
	}
	for size := 2 * m.longest; size < len(text)+2; size++ {
		var got []byte
		err := m.pieces(smallReads{bytes.NewReader(text)}, make([]byte, size), func(piece []byte) error {
			got = append(got, piece...)
			return nil
		})
		if err != nil || string(got) != want {
			t.Fatalf("in pieces of %d: %v\n%q\nwant\n%q", size, err, got, want)
		}
	}
	// Secrets that overlap without end come to an end all the same.
	var got []byte
	m = newMask("aaaaaaaa")
	err := m.pieces(strings.NewReader(strings.Repeat("a", 1000)), make([]byte, 64), func(piece []byte) error {
		got = append(got, piece...)
		return nil
	})
	if err != nil || bytes.Contains(got, []byte("aaaaaaaa")) || len(got) == 0 {
		t.Errorf("%v: %q", err, got)
	}
}

// smallReads gives what it has in small helpings.
type smallReads struct{ r io.Reader }

func (i smallReads) Read(p []byte) (int, error) { return i.r.Read(p[:min(len(p), 7)]) }
