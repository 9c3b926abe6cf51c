package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Limits of read_file.
const (
	defaultLines = 500
	maxFile      = 1 << 30 // bytes; counting the lines of a larger one takes too long
)

// readFile is the tool read_file.
type readFile struct{}

func (readFile) Spec() Spec {
	return Spec{
		Name: "read_file",
		Description: "Reads a text file of the work folder, with line numbers: each line comes as N|text. " +
			"Long files are read in parts with offset and limit; lines over 2000 characters are cut.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","description":"File to read, relative to the shell's current folder or absolute inside the work folder"},` +
			`"offset":{"type":"integer","description":"First line to read, counted from 1","minimum":1,"default":1},` +
			`"limit":{"type":"integer","description":"Number of lines to read","minimum":1,"maximum":2000,"default":500}` +
			`},"required":["path"],"additionalProperties":false}`),
		State:    StateSandbox,
		ReadOnly: true,
	}
}

// fileText is the shape of a result with text in it.
type fileText struct {
	Content    string `json:"content"`
	TotalLines int    `json:"total_lines"`
	FileSize   int64  `json:"file_size"`
	Truncated  bool   `json:"truncated"`
	IsBinary   bool   `json:"is_binary"`
	IsImage    bool   `json:"is_image"`
	Hint       string `json:"hint,omitempty"`
}

// fileTrouble is the shape of an error that knows more than its text.
type fileTrouble struct {
	Error      string   `json:"error"`
	Path       string   `json:"path"`
	TotalLines int      `json:"total_lines,omitempty"`
	FileSize   int64    `json:"file_size,omitempty"`
	IsBinary   bool     `json:"is_binary,omitempty"`
	Similar    []string `json:"similar_files,omitempty"`
}

func trouble(t fileTrouble) Result { return Result{Text: encode(t), Status: StatusError} }

func (readFile) Call(ctx context.Context, c *Call) (Result, error) {
	args := struct {
		Path          string
		Offset, Limit int
	}{Offset: 1, Limit: defaultLines}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return Result{}, err
	}
	if problem := c.pathProblem(args.Path); problem != "" {
		return failure(StatusError, problem), nil
	}
	name := c.resolve(args.Path)
	files := c.Sandbox.Files()
	info, err := files.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return trouble(fileTrouble{
			Error: "File not found: " + args.Path, Path: args.Path, Similar: similarFiles(files, args.Path, name),
		}), nil
	case err != nil:
		return c.fileError(args.Path, err)
	case info.IsDir():
		return trouble(fileTrouble{Error: "This is a folder, not a file: " + args.Path, Path: args.Path}), nil
	case info.Size() > maxFile:
		return trouble(fileTrouble{
			Error: fmt.Sprintf("The file is larger than %d bytes; use head, sed or tail in a shell", maxFile),
			Path:  args.Path, FileSize: info.Size(),
		}), nil
	}
	f, err := files.Open(name)
	if err != nil {
		return c.fileError(args.Path, err)
	}
	defer f.Close()
	return readPage(ctx, c, f, args.Path, newPage(args.Offset, args.Limit, info.Size()))
}

// readPage makes the result from an open file.
func readPage(ctx context.Context, c *Call, f io.Reader, path string, p *page) (Result, error) {
	kind, err := p.read(ctx, f)
	switch {
	case err != nil:
		return c.fileError(path, err)
	case kind == kindImage:
		return success(fileText{FileSize: p.size, IsImage: true, Hint: "This is a picture; its bytes are not shown."}), nil
	case kind == kindBinary:
		return trouble(fileTrouble{
			Error: "This is a binary file; its bytes are not shown: " + path, Path: path, FileSize: p.size, IsBinary: true,
		}), nil
	}
	r := success(fileText{
		Content: p.content.String(), TotalLines: p.lines, FileSize: p.size, Truncated: p.lines > p.last, Hint: p.hint(),
	})
	if p.overflow || len(r.Text) > resultLimit {
		return trouble(fileTrouble{
			Error: fmt.Sprintf("Lines %d to %d come to more than %d bytes; read fewer of them with offset and limit", p.first, min(p.last, p.lines), resultLimit),
			Path:  path, TotalLines: p.lines, FileSize: p.size,
		}), nil
	}
	return r, nil
}
