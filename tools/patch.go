package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// maxPatchFile is the largest file that is changed in parts, in bytes: it is held in memory
// several times.
const maxPatchFile = 8 << 20

// patch is the tool of that name.
type patch struct{}

func (patch) Spec() Spec {
	return Spec{
		Name: "patch",
		Description: "Changes parts of text files. Mode replace writes new_string in the place of old_string, which must be the only text like it in the file unless replace_all is set; " +
			"small differences in blanks, indentation, quotes and escapes are forgiven. " +
			"Mode patch changes several places and files at once, with a patch of the form\n" +
			"*** Begin Patch\n*** Update File: path\n@@ a line above the place, such as a function's head\n a line that stays\n-a line that goes\n+a line that comes\n" +
			"*** Add File: path\n+each line of the new file\n*** Delete File: path\n*** Move File: old path -> new path\n*** End Patch\n" +
			"It is checked as a whole before anything is written. Line ends, byte order mark and mode of a file are kept. The result holds the changes as a unified diff.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"mode":{"type":"string","description":"replace: one text in one file. patch: a patch over one or several files","enum":["replace","patch"],"default":"replace"},` +
			`"path":{"type":"string","description":"mode replace: file to change, relative to the shell's current folder or absolute inside the work folder"},` +
			`"old_string":{"type":"string","description":"mode replace: text to replace, copied from the file (without line numbers), with enough lines around it to be the only one"},` +
			`"new_string":{"type":"string","description":"mode replace: text to write in its place; empty to delete it"},` +
			`"replace_all":{"type":"boolean","description":"mode replace: change every place where old_string occurs","default":false},` +
			`"patch":{"type":"string","description":"mode patch: the whole patch, from *** Begin Patch to *** End Patch"}` +
			`},"additionalProperties":false}`),
		State:    StateSandbox,
		Withheld: withoutProfiles,
	}
}

// withoutProfiles tells a model about a parameter that only makes sense elsewhere.
var withoutProfiles = map[string]string{"cross_profile": "there are no profiles here; paths lie inside the work folder"}

// patchArgs are the arguments; nil are those that were not given.
type patchArgs struct {
	Mode       string
	Path       *string
	OldString  *string `json:"old_string"`
	NewString  *string `json:"new_string"`
	ReplaceAll bool    `json:"replace_all"`
	Patch      *string
}

// patchResult is the shape of every result.
type patchResult struct {
	Success       bool     `json:"success"`
	Diff          string   `json:"diff,omitempty"`
	FilesModified []string `json:"files_modified,omitempty"`
	FilesCreated  []string `json:"files_created,omitempty"`
	FilesDeleted  []string `json:"files_deleted,omitempty"`
	Replacements  int      `json:"replacements,omitempty"`
	Match         string   `json:"match,omitempty"` // how old_string was found, if not exactly
	ResolvedPath  string   `json:"resolved_path,omitempty"`
	Error         string   `json:"error,omitempty"`
	Similar       []string `json:"similar_files,omitempty"`
	Hint          string   `json:"hint,omitempty"`
}

func (r patchResult) result() Result {
	if r.Error != "" {
		return Result{Text: encode(r), Status: StatusError}
	}
	r.Success = true
	return success(r)
}

func (patch) Call(ctx context.Context, c *Call) (Result, error) {
	var args patchArgs
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return Result{}, err
	}
	if args.Mode == "" {
		args.Mode = "replace"
		if args.Patch != nil && args.OldString == nil {
			args.Mode = "patch"
		}
	}
	if problem := args.problem(); problem != "" {
		return failure(StatusBadArguments, problem), nil
	}
	if args.Mode == "patch" {
		return patchFiles(ctx, c, *args.Patch)
	}
	return patchReplace(ctx, c, args)
}

// problem names the arguments that the mode needs and does not have.
func (a patchArgs) problem() string {
	given := []struct {
		name, mode string
		value      *string
	}{
		{"path", "replace", a.Path}, {"old_string", "replace", a.OldString}, {"new_string", "replace", a.NewString},
		{"patch", "patch", a.Patch},
	}
	var missing, expected, got []string
	for _, g := range given {
		if g.value != nil {
			got = append(got, g.name)
		}
		if g.mode != a.Mode {
			continue
		}
		expected = append(expected, g.name+" (required)")
		if g.value == nil {
			missing = append(missing, fmt.Sprintf("missing %q", g.name))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	if a.Mode == "replace" {
		expected = append(expected, "replace_all")
	}
	return fmt.Sprintf("bad arguments for patch in mode %s: %s. Expected: mode, %s. Given: %s.",
		a.Mode, strings.Join(missing, "; "), strings.Join(expected, ", "), cmp.Or(strings.Join(got, ", "), "nothing"))
}

// patchReplace is mode replace.
func patchReplace(ctx context.Context, c *Call, args patchArgs) (Result, error) {
	path := *args.Path
	switch {
	case *args.OldString == "":
		return patchResult{Error: "old_string is empty", Hint: "Use write_file to write a whole file."}.result(), nil
	case *args.OldString == *args.NewString:
		return patchResult{Error: "old_string and new_string are the same"}.result(), nil
	}
	set := newChangeSet(c)
	f, trouble, err := set.load(path)
	switch {
	case err != nil:
		return Result{}, err
	case trouble != nil:
		return trouble.result(), nil
	}
	r, problem, hint := f.now.replace(*args.OldString, *args.NewString, args.ReplaceAll)
	if problem == "" {
		set.write(f, f.now.apply(r.edits))
		if f.now.raw == f.before.raw {
			problem = "the file would stay as it is: what new_string changes is not in it"
		}
	}
	if problem != "" {
		return patchResult{Error: path + ": " + problem, Hint: hint}.result(), nil
	}
	done, err := set.commit(ctx)
	if err != nil {
		return Result{}, err
	}
	done.ResolvedPath = f.name
	if len(r.edits) > 1 {
		done.Replacements = len(r.edits)
	}
	if r.way != ways[0].name {
		done.Match = r.way
	}
	return done.result(), nil
}

// patchFiles is mode patch.
func patchFiles(ctx context.Context, c *Call, text string) (Result, error) {
	sections, err := parsePatch(text)
	if err != nil {
		return patchResult{Error: err.Error(), Hint: "Nothing was changed."}.result(), nil
	}
	set := newChangeSet(c)
	for _, s := range sections {
		trouble, err := set.plan(s)
		if err != nil {
			return Result{}, err
		}
		if trouble != nil {
			trouble.Hint = strings.TrimSpace("Nothing was changed. " + trouble.Hint)
			return trouble.result(), nil
		}
	}
	done, err := set.commit(ctx)
	if err != nil {
		return Result{}, err
	}
	return done.result(), nil
}
