package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"hermes-batch/tools/sandbox"
)

// Full is all of what a result shows only a part of.
type Full struct {
	sandbox.Full        // where it lies for the model; without a sandbox, nowhere
	Text         string // all of it if it was at hand; else File has it
	Growing      bool   // a process still writes it: it is named, and kept once it has ended
}

// errChanged is returned when a file is not the one that was written any more.
var errChanged = errors.New("its length has changed")

// Open reads it from its beginning. It is nil if there is nothing to read, or not yet.
func (f *Full) Open(box sandbox.Sandbox) (io.ReadCloser, error) {
	switch {
	case f.Text != "":
		return io.NopCloser(io.LimitReader(strings.NewReader(f.Text), sandbox.MaxFull)), nil
	case f.File == "" || f.Growing:
		return nil, nil
	}
	in, err := box.Files().Open(f.File)
	if err != nil {
		return nil, err
	}
	info, err := in.Stat()
	if err == nil && info.Size() != f.Size {
		err = fmt.Errorf("%s: %w", f.File, errChanged)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(in, f.Size), in}, nil
}

// outputOf is the Full of a command's result; nil if that shows all.
func outputOf(r sandbox.Result) *Full {
	if r.Full == nil {
		return nil
	}
	return &Full{Full: *r.Full}
}

// keep makes the Full of a text that is cut, and puts it where the model can read it.
func (c *Call) keep(text string) (*Full, error) {
	full := &Full{Text: text}
	if c.Sandbox == nil {
		return full, nil
	}
	var err error
	full.Full, err = c.Sandbox.Keep(c.Key, []byte(text))
	return full, err
}

// nameFor is how a call's result names a file. From the folder in which sessions start it is a
// relative name, so that rows say nothing of the machine; elsewhere one that holds wherever the
// session goes.
func (c *Call) nameFor(file string, shell *sandbox.Shell) string {
	cwd, root := c.Shell.Cwd, c.root()
	if shell != nil {
		cwd = shell.Cwd
	}
	if name, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(name) && cmp.Or(cwd, root) == root {
		return name
	}
	return file
}

// members are what a result says of it, under the name that the file has there.
func (f *Full) members(name string) (ms []member) {
	if f.File != "" {
		ms = append(ms, member{"full_output", json.RawMessage(encode(name))})
	}
	note := ""
	switch {
	case f.Problem != "":
		note = "all of it could not be kept in a file: " + f.Problem
	case f.File != "" && f.Lost > 0:
		note = fmt.Sprintf("the file ends after %d bytes; the %d bytes that follow were not kept", f.Size, f.Lost)
	}
	if note != "" {
		ms = append(ms, member{"full_output_note", json.RawMessage(encode(note))})
	}
	return ms
}
