package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"hermes-batch/tools/sandbox"
)

// changeSet plans changes of files, so that all of them are known to be possible before the first
// is made.
type changeSet struct {
	call    *Call
	files   []*plannedFile
	actions []action
}

// plannedFile is a file as it is and as it will be.
type plannedFile struct {
	shown, name string // as the model, and as the sandbox knows it
	before, now document
	existed     bool
	exists      bool
	opaque      string       // why the content is of no use; before and now are empty then
	from, to    *plannedFile // moved
}

// action is one step of making the changes.
type action struct {
	file  *plannedFile
	from  *plannedFile // moved to file, if set
	gone  bool         // file is removed
	write bool         // data is written
	data  string
}

func newChangeSet(c *Call) *changeSet { return &changeSet{call: c} }

// file returns what is planned for a path; what the model cannot use comes back as the result
// that says so.
func (s *changeSet) file(path string) (*plannedFile, *patchResult, error) {
	if problem := s.call.pathProblem(path); problem != "" {
		return nil, &patchResult{Error: problem}, nil
	}
	name := s.call.resolve(path)
	for _, f := range s.files {
		if f.name == name {
			return f, nil, nil
		}
	}
	f := &plannedFile{shown: path, name: name}
	files := s.call.Sandbox.Files()
	info, err := files.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.files = append(s.files, f)
		return f, nil, nil
	case err == nil && info.IsDir():
		return nil, &patchResult{Error: "This is a folder, not a file: " + path}, nil
	}
	if err == nil {
		f.existed, f.exists = true, true
		err = s.read(f, info)
	}
	if err != nil {
		if beyondModel(err) {
			return nil, nil, err
		}
		return nil, &patchResult{Error: s.call.fileProblem(path, err)}, nil
	}
	s.files = append(s.files, f)
	return f, nil, nil
}

// read takes in the content of a file, if that is text.
func (s *changeSet) read(f *plannedFile, info fs.FileInfo) error {
	if info.Size() > maxPatchFile {
		f.opaque = fmt.Sprintf("%s is larger than %d bytes; change it with sed or a script", f.shown, maxPatchFile)
		return nil
	}
	data, err := s.call.Sandbox.Files().ReadFile(f.name, maxPatchFile)
	if err != nil {
		return err
	}
	if kindOf(data[:min(sampleSize, len(data))], len(data) <= sampleSize) != kindText {
		f.opaque = "This is a binary file, which cannot be changed in parts: " + f.shown
		return nil
	}
	f.before = newDocument(string(data))
	f.now = f.before
	return nil
}

// load returns a text file that is there.
func (s *changeSet) load(path string) (*plannedFile, *patchResult, error) {
	f, trouble, err := s.file(path)
	switch {
	case err != nil || trouble != nil:
		return nil, trouble, err
	case !f.exists:
		return nil, &patchResult{
			Error: "File not found: " + path, Similar: similarFiles(s.call.Sandbox.Files(), path, f.name),
		}, nil
	}
	if f.opaque != "" {
		return nil, &patchResult{Error: f.opaque}, nil
	}
	return f, nil, nil
}

// absent returns a file that is to be made.
func (s *changeSet) absent(path string) (*plannedFile, *patchResult, error) {
	f, trouble, err := s.file(path)
	if err == nil && trouble == nil && f.exists {
		return nil, &patchResult{Error: "This file exists already: " + path}, nil
	}
	return f, trouble, err
}

// plan takes in one section of a patch.
func (s *changeSet) plan(p section) (trouble *patchResult, err error) {
	switch p.kind {
	case patchAdd:
		f, trouble, err := s.absent(p.path)
		if trouble != nil || err != nil {
			return trouble, err
		}
		text := strings.Join(p.text, "\n")
		if len(p.text) > 0 {
			text += "\n"
		}
		s.write(f, newDocument(text))
		return nil, nil
	case patchDelete:
		f, trouble, err := s.file(p.path)
		if trouble != nil || err != nil {
			return trouble, err
		}
		if !f.exists {
			_, trouble, err = s.load(p.path)
			return trouble, err
		}
		f.exists, f.now = false, document{}
		s.actions = append(s.actions, action{file: f, gone: true})
		return nil, nil
	}
	return s.planUpdate(p)
}

// planUpdate takes in a section that changes a file, moves it, or both.
func (s *changeSet) planUpdate(p section) (trouble *patchResult, err error) {
	find := s.load
	if len(p.hunks) == 0 {
		find = s.present
	}
	f, trouble, err := find(p.path)
	if trouble != nil || err != nil {
		return trouble, err
	}
	now, problem, hint := f.now.applyHunks(p.hunks)
	switch {
	case problem != "":
		return &patchResult{Error: p.path + ": " + problem, Hint: hint}, nil
	case p.to == "" && now.raw == f.now.raw:
		return &patchResult{Error: p.path + ": the file would stay as it is"}, nil
	case p.to == "":
		s.write(f, now)
		return nil, nil
	}
	to, trouble, err := s.absent(p.to)
	if trouble != nil || err != nil {
		return trouble, err
	}
	s.actions = append(s.actions, action{file: to, from: f, write: now.raw != f.now.raw, data: now.raw})
	to.exists, to.now, to.opaque, to.from = true, now, f.opaque, f
	f.exists, f.now, f.to = false, document{}, to
	return nil, nil
}

// present returns a file that is there, of whatever kind.
func (s *changeSet) present(path string) (*plannedFile, *patchResult, error) {
	f, trouble, err := s.file(path)
	if err == nil && trouble == nil && !f.exists {
		return s.load(path)
	}
	return f, trouble, err
}

// write plans the new content of a file.
func (s *changeSet) write(f *plannedFile, now document) {
	f.now, f.exists, f.opaque, f.to = now, true, "", nil
	s.actions = append(s.actions, action{file: f, write: true, data: now.raw})
}

// commit makes the changes. If one is not possible after all, the result says which were made.
func (s *changeSet) commit(ctx context.Context) (patchResult, error) {
	var r patchResult
	for i, a := range s.actions {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if err := s.act(a); err != nil {
			if beyondModel(err) {
				return r, err
			}
			r.Error = s.call.fileProblem(a.file.shown, err)
			if i > 0 {
				r.Error += "; what comes before it in the patch was done, the rest was not"
			}
			break
		}
		s.record(&r, a)
	}
	if r.Error == "" {
		r.Diff = s.diff()
	}
	return r, nil
}

var errNotAsWritten = errors.New("it does not hold what was written; something else changes this file at the same time")

// act makes one change and looks at what came of it.
func (s *changeSet) act(a action) error {
	files := s.call.Sandbox.Files()
	if a.gone {
		return files.Remove(a.file.name)
	}
	if a.from != nil {
		if err := s.move(a); err != nil {
			return err
		}
	}
	if !a.write {
		return nil
	}
	if _, err := files.WriteFile(a.file.name, []byte(a.data)); err != nil {
		return err
	}
	got, err := files.ReadFile(a.file.name, int64(len(a.data))+1)
	switch {
	case errors.Is(err, sandbox.ErrTooLarge), err == nil && string(got) != a.data:
		return errNotAsWritten
	default:
		return err
	}
}

// move renames a file, which keeps its mode. Writing the new one first makes its folder.
func (s *changeSet) move(a action) error {
	files := s.call.Sandbox.Files()
	if _, err := files.Stat(filepath.Dir(a.file.name)); errors.Is(err, fs.ErrNotExist) {
		if _, err := files.WriteFile(a.file.name, []byte(a.data)); err != nil {
			return err
		}
	}
	return files.Rename(a.from.name, a.file.name)
}

// record adds one change to the lists of a result.
func (s *changeSet) record(r *patchResult, a action) {
	add := func(list *[]string, f *plannedFile) {
		if !slices.Contains(*list, f.name) {
			*list = append(*list, f.name)
		}
	}
	switch {
	case a.gone:
		add(&r.FilesDeleted, a.file)
	case a.file.existed && a.from == nil:
		add(&r.FilesModified, a.file)
	default:
		add(&r.FilesCreated, a.file)
		if a.from != nil {
			add(&r.FilesDeleted, a.from)
		}
	}
}

// diff shows all changes as a model sees the files: without byte order marks and CRs, unless
// these are all that changes.
func (s *changeSet) diff() string {
	var b strings.Builder
	for _, f := range s.files {
		if f.to == nil {
			b.WriteString(f.diff())
		}
	}
	return b.String()
}

func (f *plannedFile) diff() string {
	old, existed := f, f.existed
	if f.from != nil {
		old, existed = f.from, true
	}
	from, to := "a/"+old.shown, "b/"+f.shown
	if !existed {
		from = "/dev/null"
	}
	if !f.exists {
		to = "/dev/null"
	}
	before, now := old.before.text, f.now.text
	if before == now {
		before, now = old.before.raw, f.now.raw
	}
	text, err := udiff.ToUnified(from, to, before, udiff.Lines(before, now), udiff.DefaultContextLines)
	switch {
	case err == nil && text != "":
		return text
	case f.from != nil:
		return fmt.Sprintf("rename from %s\nrename to %s\n", old.shown, f.shown)
	case existed != f.exists:
		return fmt.Sprintf("--- %s\n+++ %s\n", from, to)
	}
	return ""
}
