package engine

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"hermes-batch/db"
)

// maxLine bounds one line of a dataset, in bytes: a longer one is one bad row.
const maxLine = 512 << 20

// row is one valid line of a dataset.
type row struct {
	line             int // 1-based
	text, image, cwd string
	extra            []byte // raw JSON object of the other keys
}

func (r *row) hash() db.Hash { return db.PromptHash(r.text, r.image, r.cwd) }

// rowReader reads a dataset line by line; memory is bounded by one line.
type rowReader struct {
	in    *bufio.Reader
	sum   interface{ Sum([]byte) []byte }
	limit int // bytes of a line
	line  int
	buf   []byte
}

// newRowReader reads from r and hashes every byte that it reads.
func newRowReader(r io.Reader) *rowReader {
	sum := sha256.New()
	return &rowReader{in: bufio.NewReaderSize(io.TeeReader(r, sum), 1<<20), sum: sum, limit: maxLine}
}

// digest is the hash of all bytes read. It is the file's after next returned
// io.EOF or drain was called.
func (d *rowReader) digest() (h db.Hash) {
	copy(h[:], d.sum.Sum(nil))
	return h
}

// drain reads the rest without looking at it, so that digest covers the file.
func (d *rowReader) drain() error {
	_, err := io.Copy(io.Discard, d.in)
	return err
}

// badRow is a line that cannot be used.
type badRow struct{ db.BadLine }

func (b *badRow) Error() string { return fmt.Sprintf("line %d: %s", b.Line, b.Reason) }

// next returns the next valid row, a *badRow for a line that is to be skipped,
// or io.EOF.
func (d *rowReader) next() (*row, error) {
	for {
		line, err := d.readLine()
		if err != nil {
			return nil, err
		}
		if d.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, reason, hint := parseRow(line)
		if reason != "" {
			return nil, &badRow{db.BadLine{Line: d.line, Reason: reason, Hint: hint}}
		}
		r.line = d.line
		return r, nil
	}
}

// readLine returns a line without its end. The slice is valid until the next
// call.
func (d *rowReader) readLine() ([]byte, error) {
	d.buf = d.buf[:0]
	tooLong := false
	for {
		part, err := d.in.ReadSlice('\n')
		if !tooLong && len(d.buf)+len(part) > d.limit {
			tooLong, d.buf = true, d.buf[:0]
		}
		if !tooLong {
			d.buf = append(d.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case err != nil && len(d.buf) == 0 && !tooLong:
			return nil, io.EOF
		}
		d.line++
		if tooLong {
			return nil, &badRow{db.BadLine{Line: d.line,
				Reason: fmt.Sprintf("line is longer than %d MiB", d.limit>>20), Hint: "split the prompt"}}
		}
		return bytes.TrimRight(d.buf, "\r\n"), nil
	}
}

// parseRow reads one object. A reason says why it is a bad row.
func parseRow(line []byte) (r *row, reason, hint string) {
	if bytes.HasPrefix(line, []byte("\x1f\x8b")) || bytes.HasPrefix(line, []byte("\x28\xb5\x2f\xfd")) {
		return nil, "compressed data", "decompress the file first"
	}
	if !utf8.Valid(line) {
		return nil, fmt.Sprintf("not valid UTF-8 at byte %d", invalidAt(line)), "save the file as UTF-8"
	}
	if !json.Valid(line) {
		return nil, "not valid JSON: " + syntaxError(line), "each line must be one JSON object"
	}
	members, ok := objectMembers(replaceLoneSurrogates(line))
	if !ok {
		return nil, "not a JSON object", `write {"prompt": "..."}`
	}
	r = &row{}
	values := map[string]string{}
	var rest []member
	for _, m := range members {
		switch m.name {
		case "prompt", "image", "docker_image", "cwd":
			text, problem := stringValue(m)
			if problem != "" {
				return nil, problem, fieldHint(m.name)
			}
			values[m.name] = text
		default:
			rest = append(rest, m)
		}
	}
	r.text, r.image, r.cwd = values["prompt"], values["image"], values["cwd"]
	if reason, hint := r.check(values["docker_image"]); reason != "" {
		return nil, reason, hint
	}
	r.extra = joinMembers(rest)
	return r, "", ""
}

func (r *row) check(dockerImage string) (reason, hint string) {
	switch {
	case r.text == "":
		return `"prompt" is missing or empty`, fieldHint("prompt")
	case r.image != "" && dockerImage != "" && r.image != dockerImage:
		return `"image" and "docker_image" name different images`, "keep one of them"
	case strings.ContainsRune(r.cwd, 0):
		return `"cwd" holds a NUL character`, fieldHint("cwd")
	case strings.HasPrefix(r.cwd, "~"):
		return `"cwd" begins with ~, which is not expanded`, "write the folder's absolute path"
	}
	if r.image == "" {
		r.image = dockerImage
	}
	return "", ""
}

func fieldHint(name string) string {
	if name == "prompt" {
		return `"prompt" must be a non-empty string`
	}
	return fmt.Sprintf("%q must be a string, or left out", name)
}

func stringValue(m member) (text, problem string) {
	if string(m.value) == "null" {
		return "", ""
	}
	if m.value[0] != '"' {
		return "", fmt.Sprintf("%q is %s, not a string", m.name, kindOf(m.value))
	}
	if err := json.Unmarshal(m.value, &text); err != nil {
		return "", fmt.Sprintf("%q: %v", m.name, err)
	}
	return text, ""
}

func kindOf(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

func syntaxError(line []byte) string {
	var v any
	err := json.Unmarshal(line, &v)
	if err == nil {
		return "trailing text"
	}
	return err.Error()
}

func invalidAt(line []byte) int {
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRune(line[at:])
		if r == utf8.RuneError && size == 1 {
			return at + 1
		}
		at += size
	}
	return len(line)
}

// openDataset opens a dataset so that it can be read twice: what is no regular
// file (a pipe) is copied to a temporary file first.
func openDataset(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Usagef("%v", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		f.Close()
		return nil, Usagef("%v", err)
	case info.IsDir():
		f.Close()
		return nil, Usagef("%s is a folder; name a JSONL file", path)
	case info.Mode().IsRegular():
		return f, nil
	}
	defer f.Close()
	return spool(f)
}

func spool(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "hermes-batch-dataset-")
	if err != nil {
		return nil, fmt.Errorf("copy the dataset: %w", err)
	}
	os.Remove(f.Name())
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return nil, fmt.Errorf("copy the dataset: %w", err)
	}
	return f, nil
}
