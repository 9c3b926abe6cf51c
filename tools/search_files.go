package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"hermes-batch/tools/sandbox"
)

// searchFiles is the tool search_files. What it finds comes in the order of the names, and it
// cannot leave the sandbox.
type searchFiles struct{}

func (searchFiles) Spec() Spec {
	return Spec{
		Name: "search_files",
		Description: "Searches the contents of files for a regular expression, or finds files by name. " +
			"Hidden, binary and ignored (.gitignore) files are left out; symbolic links are not followed. " +
			"Results are sorted by path; long lists come in parts with offset and limit.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"pattern":{"type":"string","description":"target content: regular expression (RE2 syntax) that is matched line by line. target files: file name or glob such as *.py or src/**/*.go; without * ? [ any name that contains it"},` +
			`"target":{"type":"string","description":"content searches inside files (also: grep), files finds files by name (also: find)","enum":["content","files","grep","find"],"default":"content"},` +
			`"path":{"type":"string","description":"Folder or file to search, relative to the shell's current folder or absolute inside the work folder","default":"."},` +
			`"file_glob":{"type":"string","description":"Only files that fit, for example *.py or *.{ts,tsx}; ! before it leaves them out"},` +
			`"limit":{"type":"integer","description":"Most results to return","minimum":1,"maximum":1000,"default":50},` +
			`"offset":{"type":"integer","description":"Results to skip","minimum":0,"default":0},` +
			`"output_mode":{"type":"string","description":"content shows matching lines, files_only the files that have some, count how many each has","enum":["content","files_only","count"],"default":"content"},` +
			`"context":{"type":"integer","description":"Lines to show before and after each match","minimum":0,"maximum":20,"default":0}` +
			`},"required":["pattern"],"additionalProperties":false}`),
		State:    StateSandbox,
		ReadOnly: true,
	}
}

// Output modes of a search.
const (
	showLines  = "content"
	showFiles  = "files_only"
	showCounts = "count"
)

type searchArgs struct {
	Pattern, Target, Path string
	FileGlob              string `json:"file_glob"`
	Limit, Offset         int
	OutputMode            string `json:"output_mode"`
	Context               int
}

// byName says that files are sought by name.
func (a searchArgs) byName() bool { return a.Target == "files" || a.Target == "find" }

// searchLimits bound the work of one search.
type searchLimits struct {
	time   time.Duration
	files  int // files and folders looked at
	depth  int // folders within each other
	count  int // results counted beyond those that are shown
	shown  int // bytes of the results shown, as JSON
	line   int // bytes shown of a line
	longer int // bytes of a line that are searched
}

var usualSearch = searchLimits{
	time: 60 * time.Second, files: 200_000, depth: 100, count: 10_000,
	shown: 60_000, line: 500, longer: 1 << 20,
}

func (searchFiles) Call(ctx context.Context, c *Call) (Result, error) {
	args := searchArgs{Target: "content", Path: ".", Limit: 50, OutputMode: showLines}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return Result{}, err
	}
	if args.Path == "" {
		args.Path = "."
	}
	return searchWithin(ctx, c, args, usualSearch)
}

func searchWithin(ctx context.Context, c *Call, args searchArgs, limits searchLimits) (Result, error) {
	if problem := c.pathProblem(args.Path); problem != "" {
		return failure(StatusError, problem), nil
	}
	s, problem := newSearch(args, limits)
	if problem != "" {
		return failure(StatusError, problem), nil
	}
	files := c.Sandbox.Files()
	name := c.resolve(args.Path)
	info, err := files.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return trouble(fileTrouble{
			Error: "Path not found: " + args.Path, Path: args.Path, Similar: similarFiles(files, args.Path, name),
		}), nil
	case err != nil:
		return c.fileError(args.Path, err)
	case !info.IsDir() && !info.Mode().IsRegular():
		return c.fileError(args.Path, sandbox.ErrNotRegular)
	}
	s.box = files
	if err := s.run(ctx, c.root(), found{name: name, shown: args.Path, inside: "."}, info.IsDir()); err != nil {
		return c.fileError(args.Path, err)
	}
	return success(s.report()), nil
}

// run searches a folder or a file, for as long as the limits let it.
func (s *search) run(ctx context.Context, root string, at found, folder bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.time, errSearchTime)
	defer cancel()
	var err error
	if folder {
		err = s.tree(ctx, root, at)
	} else {
		s.alone = true
		at.inside = filepath.Base(at.name)
		err = s.visit(ctx, at)
	}
	var stop stopReason
	if errors.As(err, &stop) {
		s.stopped, err = string(stop), nil
	}
	return err
}

// stopReason ends a search early, with what it has.
type stopReason string

func (r stopReason) Error() string { return "search stopped: " + string(r) }

var errSearchTime = errors.New("the time of the search is over")

// mayGoOn tells the end of the search's own time from that of the call.
func (s *search) mayGoOn(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errSearchTime) {
		return stopReason(fmt.Sprintf("stopped after %v", s.limits.time))
	}
	return cause
}

// newSearch prepares a search, or says what is wrong with its arguments.
func newSearch(args searchArgs, limits searchLimits) (*search, string) {
	s := &search{args: args, limits: limits}
	var err error
	if s.files, err = newNameFilter(args.FileGlob); err != nil {
		return nil, fmt.Sprintf("file_glob %s: %v", args.FileGlob, err)
	}
	if args.Pattern == "" {
		return nil, "pattern is empty"
	}
	if args.byName() {
		if s.names, err = newNameFilter(args.Pattern); err != nil {
			return nil, fmt.Sprintf("pattern %s: %v", args.Pattern, err)
		}
		s.names.part = len(s.names.globs) == 1 && isLiteral(args.Pattern) && !strings.Contains(args.Pattern, "/")
		return s, ""
	}
	parsed, err := syntax.Parse(args.Pattern, syntax.Perl)
	switch {
	case err != nil:
		return nil, "pattern is no regular expression in RE2 syntax (which has no look-around and no back-references): " +
			strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	case wantsLineEnd(parsed):
		return nil, "pattern holds a line end, but lines are matched one by one; search for a part of one line and use context to see its neighbours"
	}
	if s.re, err = regexp.Compile(args.Pattern); err != nil {
		return nil, "pattern: " + err.Error()
	}
	s.must = requiredLiterals(parsed)
	return s, ""
}

// wantsLineEnd says that an expression asks for a line end by name; a class that has one among
// others does not.
func wantsLineEnd(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') || slices.ContainsFunc(re.Sub, wantsLineEnd)
}
