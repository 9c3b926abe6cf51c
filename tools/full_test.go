package tools

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"hermes-batch/tools/sandbox"
)

// whole reads all of what a result shows a part of, as the engine does.
func (s *session) whole(r Result) string {
	s.Helper()
	if r.Full == nil {
		s.Fatalf("the result is said to show all: %.200s", r.Text)
	}
	in, err := r.Full.Open(s.box)
	if err != nil || in == nil {
		s.Fatalf("%+v cannot be read: %v", r.Full.Full, err)
	}
	defer in.Close()
	all, err := io.ReadAll(in)
	if err != nil {
		s.Fatal(err)
	}
	return string(all)
}

// A model sees head and tail of two megabytes, and finds all of it with every tool, wherever its
// shell is.
func TestTerminalFullOutput(t *testing.T) {
	s := newSession(t)
	s.run(terminal{}, `{"command":"mkdir -p sub/deep; cd sub"}`)
	call := s.call(`{"command":"echo begin; seq 300000; echo end","workdir":"deep"}`)
	r, err := Run(t.Context(), terminal{}, call)
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
	ms, _ := members([]byte(r.Text))
	var keys []string
	for _, m := range ms {
		keys = append(keys, m.key)
	}
	if got := strings.Join(keys, " "); got != "output exit_code error full_output" {
		t.Errorf("the result has %s", got)
	}
	output, file := textField(t, r, "output"), textField(t, r, "full_output")
	if !strings.HasPrefix(output, "begin\n1\n") || !strings.HasSuffix(output, "\n300000\nend\n") || !strings.Contains(output, " bytes of output dropped ...]") {
		t.Errorf("output %.30q … %q", output, output[len(output)-30:])
	}
	all := s.whole(r)
	if !strings.HasPrefix(all, "begin\n1\n") || !strings.HasSuffix(all, "\n300000\nend\n") || len(all) != 1_988_895+len("begin\nend\n") {
		t.Errorf("all of it has %d bytes", len(all))
	}
	if got := s.run(terminal{}, `{"command":"cd /tmp; sed -n 150001p `+file+`"}`); textField(t, got, "output") != "150000\n" {
		t.Errorf("terminal: %s", got.Text)
	}
	if got := s.run(readFile{}, `{"path":"`+file+`","offset":150001,"limit":1}`); textField(t, got, "content") != "150001|150000" {
		t.Errorf("read_file: %s", got.Text)
	}
	for _, path := range []string{file, strings.TrimSuffix(file, "/"+call.Key+".txt")} {
		if got := s.run(searchFiles{}, `{"pattern":"^150000$","path":"`+path+`"}`); field(t, got, "total_count") != "1" {
			t.Errorf("search_files in %s: %s", path, got.Text)
		}
	}
	// But does not meet it where it does not look for it.
	if got := s.run(searchFiles{}, `{"pattern":"^150000$","path":"`+s.box.Root()+`"}`); field(t, got, "total_count") != "0" {
		t.Errorf("search_files in the work folder: %s", got.Text)
	}
	again, state, err := Recall(t.Context(), terminal{}, call)
	if err != nil || state != sandbox.CallDone || again.Text != r.Text || s.whole(again) != all {
		t.Errorf("after a restart: %v, %v: %.100s", state, err, again.Text)
	}
	if r := s.run(terminal{}, `{"command":"seq 9000"}`); r.Full != nil || field(t, r, "full_output") != "" {
		t.Errorf("an output that fits: %+v", r.Full)
	}
}

// Where all of it cannot be kept, the result says so and why.
func TestTerminalFullOutputMissing(t *testing.T) {
	s := newSession(t)
	r := s.run(terminal{}, `{"command":"yes | head -c 50000000; exit 3"}`)
	if note := textField(t, r, "full_output_note"); note != "the file ends after 16777216 bytes; the 33222784 bytes that follow were not kept" ||
		field(t, r, "full_output") == "" || field(t, r, "exit_code") != "3" {
		t.Errorf("50 MB: %q, %.100s", note, r.Text)
	}
	if all := s.whole(r); len(all) != sandbox.MaxFull {
		t.Errorf("all of it has %d bytes", len(all))
	}
	r = s.run(terminal{}, `{"command":"rm -r .hermes-results; echo >.hermes-results; seq 100000"}`)
	if note := textField(t, r, "full_output_note"); note != "all of it could not be kept in a file: not a directory" || field(t, r, "full_output") != "" || r.Status != StatusOK {
		t.Errorf("without a folder: %q, %.100s", note, r.Text)
	}
	if in, err := r.Full.Open(s.box); in != nil || err != nil {
		t.Errorf("Open = %v, %v", in, err)
	}
}

// A file that was changed since is not taken for what the command printed.
func TestFullOutputChanged(t *testing.T) {
	s := newSession(t)
	for _, change := range []string{"echo more >>", "truncate -s 100000", "rm", "ln -sf /etc/passwd"} {
		r := s.run(terminal{}, `{"command":"seq 100000"}`)
		s.run(terminal{}, `{"command":"`+change+" "+textField(t, r, "full_output")+`"}`)
		if in, err := r.Full.Open(s.box); in != nil || err == nil {
			t.Errorf("%s: it can be read", change)
		}
	}
}

// A row's own folder is shared with others, so that nothing is put there.
func TestFullOutputOfSharedFolder(t *testing.T) {
	shared := t.TempDir()
	box, err := sandbox.OpenLocal(sandbox.LocalOptions{Base: t.TempDir() + "/box", Cwd: shared})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close(context.Background(), true) })
	s := &session{T: t, box: box}
	r := s.run(terminal{}, `{"command":"seq 100000"}`)
	got := s.run(readFile{}, `{"path":"`+textField(t, r, "full_output")+`","offset":50000,"limit":1}`)
	if textField(t, got, "content") != "50000|50000" {
		t.Errorf("read_file: %s", got.Text)
	}
	if list, err := os.ReadDir(shared); err != nil || len(list) > 0 {
		t.Errorf("the shared folder holds %v, %v", list, err)
	}
}

// The rule holds for what any tool returns, and for short output that grows as JSON.
func TestFullResultOfAnyTool(t *testing.T) {
	s := newSession(t)
	long := strings.Repeat("zażółć \x01", 20_000)
	tool := probe{Spec{Name: "probe", State: StateSandbox, ReadOnly: true}, func(*Call) (Result, error) {
		return success(struct {
			Title   string `json:"title"`
			Content string `json:"content"`
		}{"t", long}), nil
	}}
	r := s.run(tool, `{}`)
	if file := textField(t, r, "full_output"); s.whole(r) != long || s.readAll(file) != long || textField(t, r, "title") != "t" {
		t.Errorf("full output %s: %.100s", file, r.Text)
	}
	r = s.run(terminal{}, `{"command":"head -c 40000 /dev/zero"}`)
	if all := s.whole(r); all != strings.Repeat("\x00", 40_000) || s.readAll(textField(t, r, "full_output")) != all {
		t.Errorf("zeros: %d bytes, %.100s", len(all), r.Text)
	}
	// Without a sandbox there is no file, and the engine has it all the same.
	r, err := Run(t.Context(), tool, &Call{Args: json.RawMessage(`{}`)})
	if err != nil || s.whole(r) != long || field(t, r, "full_output") != "" || len(r.Text) > resultLimit {
		t.Errorf("without a sandbox: %v, %.100s", err, r.Text)
	}
}

func (s *session) readAll(name string) string {
	s.Helper()
	b, err := s.box.Files().ReadFile(name, sandbox.MaxFull)
	if err != nil {
		s.Fatal(err)
	}
	return string(b)
}

// Of a process the file is named while it runs and after; what it holds goes along once it has ended.
func TestProcessFullOutput(t *testing.T) {
	s := newSession(t)
	id := s.background("seq 100000; read -r x; seq 100000", "")
	s.until(id, "\n100000\n")
	for _, action := range []string{"poll", "log", "wait"} {
		r := s.process(action, id, `,"timeout":1`)
		if all := s.readAll(textField(t, r, "full_output")); !strings.HasPrefix(all, "1\n2\n") || !strings.HasSuffix(all, "\n100000\n") {
			t.Errorf("%s of one that runs: %d bytes", action, len(all))
		}
		if in, err := r.Full.Open(s.box); in != nil || err != nil {
			t.Errorf("%s of one that runs goes along: %v", action, err)
		}
	}
	s.process("submit", id, "")
	for _, action := range []string{"wait", "poll", "log"} {
		if all := s.whole(s.process(action, id, "")); len(all) != 2*588_895 {
			t.Errorf("%s: all of it has %d bytes", action, len(all))
		}
	}
	r := s.process("log", id, `,"limit":100000`)
	if total, _ := strconv.Atoi(field(t, r, "bytes_before")); total == 0 || len(s.whole(r)) != 2*588_895 || r.Dropped == 0 {
		t.Errorf("a long log: %d, %.100s", total, r.Text)
	}
	id = s.background("seq 9000", "")
	if r := s.process("wait", id, ""); r.Full != nil || field(t, r, "full_output") != "" {
		t.Errorf("a short output: %s", r.Text)
	}
}
