package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
)

// writeFile is the tool write_file.
type writeFile struct{}

func (writeFile) Spec() Spec {
	return Spec{
		Name: "write_file",
		Description: "Writes text to a file in the work folder and replaces what it held before; " +
			"missing folders are created. CRLF line ends and the byte order mark of an existing file are kept.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","description":"File to write, relative to the shell's current folder or absolute inside the work folder"},` +
			`"content":{"type":"string","description":"The complete text of the file"}` +
			`},"required":["path","content"],"additionalProperties":false}`),
		State:    StateSandbox,
		Withheld: withoutProfiles,
	}
}

func (writeFile) Call(ctx context.Context, c *Call) (Result, error) {
	var args struct{ Path, Content string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return Result{}, err
	}
	if problem := c.pathProblem(args.Path); problem != "" {
		return failure(StatusError, problem), nil
	}
	name := c.resolve(args.Path)
	if looksNumbered(args.Content) {
		old, err := c.Sandbox.Files().ReadFile(name, maxPatchFile)
		if err != nil && beyondModel(err) {
			return Result{}, err
		}
		if isNumberedCopy(args.Content, string(old)) {
			return failure(StatusError, "content begins its lines with the numbers that read_file shows (N|text); write the text without them"), nil
		}
	}
	data := styleOf(c, name).apply(args.Content)
	dirsCreated, err := c.Sandbox.Files().WriteFile(name, data)
	if err != nil {
		return c.fileError(args.Path, err)
	}
	return success(struct {
		BytesWritten  int      `json:"bytes_written"`
		DirsCreated   bool     `json:"dirs_created"`
		ResolvedPath  string   `json:"resolved_path"`
		FilesModified []string `json:"files_modified"`
	}{len(data), dirsCreated, name, []string{name}}), nil
}

// style is how a file writes what a model does not see.
type style struct {
	mark bool // begins with a byte order mark
	crlf bool // ends its lines with CR LF
}

var byteOrderMark = []byte("\uFEFF")

// styleOf looks at the beginning of a file; one that is not there has no style.
func styleOf(c *Call, name string) style {
	const enough = 64 << 10
	f, err := c.Sandbox.Files().Open(name)
	if err != nil {
		return style{}
	}
	defer f.Close()
	start, _ := io.ReadAll(io.LimitReader(f, enough))
	return style{
		mark: bytes.HasPrefix(start, byteOrderMark),
		crlf: bytes.Contains(start, []byte("\r\n")) && bytes.Count(start, []byte("\r\n")) == bytes.Count(start, []byte("\n")),
	}
}

// apply writes content in the style, unless it has one of its own.
func (s style) apply(content string) []byte {
	if s.crlf && !strings.Contains(content, "\r") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
	}
	if s.mark && !strings.HasPrefix(content, string(byteOrderMark)) {
		content = string(byteOrderMark) + content
	}
	return []byte(content)
}
