package tools

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hermes-batch/tools/sandbox"
)

// maxIgnoreFile is the largest gitignore file that is read, in bytes.
const maxIgnoreFile = 1 << 20

// found is a file or folder that a walk came upon.
type found struct {
	name   string // for the sandbox
	shown  string // as a model may use it in its next call
	inside string // relative to where the walk began, with slashes
}

func (f found) child(name string) found {
	return found{filepath.Join(f.name, name), filepath.Join(f.shown, name), filepath.Join(f.inside, name)}
}

// tree visits every regular file below a folder, in the order of the names. The gitignore files
// of the folders around it, up to root, count as well.
func (s *search) tree(ctx context.Context, root string, top found) error {
	var lists []ignoreList
	for _, dir := range foldersBetween(root, top.name) {
		list, err := s.readIgnore(dir)
		if err != nil {
			return err
		}
		lists = append(lists, list...)
	}
	return s.folder(ctx, top, lists, 0)
}

// foldersBetween lists root and the folders below it that lead to dir, without dir itself.
func foldersBetween(root, dir string) []string {
	way, err := filepath.Rel(root, dir)
	if err != nil || way == "." || !filepath.IsLocal(way) {
		return nil
	}
	list := []string{root}
	for _, element := range strings.Split(filepath.Dir(way), "/") {
		if element != "." {
			list = append(list, filepath.Join(list[len(list)-1], element))
		}
	}
	return list
}

// readIgnore returns the rules of a folder's gitignore file, if there is one. That of the results
// folder is for repositories: who searches there means it, since the folder is hidden.
func (s *search) readIgnore(dir string) ([]ignoreList, error) {
	if filepath.Base(dir) == sandbox.ResultsFolder {
		return nil, nil
	}
	text, err := s.box.ReadFile(filepath.Join(dir, ".gitignore"), maxIgnoreFile)
	if err != nil {
		if beyondModel(err) {
			return nil, err
		}
		return nil, nil
	}
	return []ignoreList{{dir, parseIgnore(string(text))}}, nil
}

func (s *search) folder(ctx context.Context, at found, lists []ignoreList, depth int) error {
	if err := s.mayGoOn(ctx); err != nil {
		return err
	}
	if depth > s.limits.depth {
		return stopReason("folders lie too deep within each other at " + preview(at.shown, 200))
	}
	entries, err := s.box.ReadDir(at.name)
	if err != nil {
		if depth == 0 || beyondModel(err) {
			return err
		}
		s.unreadable++
		return nil
	}
	if s.looked += len(entries); s.looked > s.limits.files {
		return stopReason("too many files; search in a folder below this one")
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" && e.Type().IsRegular() }) {
		own, err := s.readIgnore(at.name)
		if err != nil {
			return err
		}
		lists = append(slices.Clip(lists), own...)
	}
	for _, e := range entries {
		if err := s.entry(ctx, at.child(e.Name()), e, lists, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry visits one file or folder, unless it is one to leave out.
func (s *search) entry(ctx context.Context, at found, e fs.DirEntry, lists []ignoreList, depth int) error {
	switch {
	case !e.IsDir() && !e.Type().IsRegular():
		return nil
	case s.leavesOut(e):
		s.hidden++
		return nil
	case ignored(lists, at.name, e.IsDir()):
		s.ignored++
		return nil
	case e.IsDir():
		return s.folder(ctx, at, lists, depth+1)
	}
	return s.visit(ctx, at)
}

// leavesOut says that an entry is hidden and not asked for: a pattern with a dot at the beginning
// of a name asks for hidden files, one with a dot at that of a folder for hidden folders too.
func (s *search) leavesOut(e fs.DirEntry) bool {
	if !strings.HasPrefix(e.Name(), ".") {
		return false
	}
	files, folders := s.files.asksForHidden()
	moreFiles, moreFolders := s.names.asksForHidden()
	if e.IsDir() {
		return e.Name() == ".git" || !folders && !moreFolders
	}
	return !files && !moreFiles
}

// nameFilter chooses files by globs; without any, all of them.
type nameFilter struct {
	globs []string
	not   bool // chooses the others
	part  bool // the one glob is a part of a file's name
}

func newNameFilter(glob string) (nameFilter, error) {
	var f nameFilter
	if glob == "" {
		return f, nil
	}
	glob, f.not = strings.CutPrefix(glob, "!")
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	for _, g := range expandBraces(strings.TrimPrefix(glob, "./")) {
		if err := checkGlob(g); err != nil {
			return f, err
		}
		f.globs = append(f.globs, g)
	}
	return f, nil
}

// fits says whether a file is chosen. A glob without a slash is for its name, one with a slash for
// the end of its path, one that begins with a slash for the whole path.
func (f nameFilter) fits(inside string) bool {
	if len(f.globs) == 0 {
		return true
	}
	return f.not != slices.ContainsFunc(f.globs, func(g string) bool {
		switch name := filepath.Base(inside); {
		case f.part:
			return strings.Contains(strings.ToLower(name), strings.ToLower(g))
		case !strings.Contains(g, "/"):
			return matchElement(g, name)
		case strings.HasPrefix(g, "/"):
			return globMatch(g[1:], inside)
		}
		return globMatch("**/"+g, inside)
	})
}

func (f nameFilter) asksForHidden() (files, folders bool) {
	if f.not {
		return false, false
	}
	for _, g := range f.globs {
		elements := strings.Split(strings.Trim(g, "/"), "/")
		last := len(elements) - 1
		hiddenFolder := slices.ContainsFunc(elements[:last], func(e string) bool { return strings.HasPrefix(e, ".") })
		folders = folders || hiddenFolder
		files = files || hiddenFolder || strings.HasPrefix(elements[last], ".")
	}
	return files, folders
}
