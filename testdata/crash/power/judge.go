package power

import (
	"bytes"
	"fmt"
	"path/filepath"
)

// judge tells whether the states of a recording are ones that the program may
// leave. It is for one goroutine, and for states in the order of their points.
type judge struct {
	r      *recording
	dir    string
	images map[*node]*image
}

func newJudge(r *recording, dir string) *judge { return &judge{r, dir, map[*node]*image{}} }

func (j *judge) close() {
	for _, im := range j.images {
		im.close()
	}
}

// opened is how many different contents of stores were opened.
func (j *judge) opened() (n int) {
	for _, im := range j.images {
		n += im.read
	}
	return n
}

// check returns what is wrong with a state, nil if nothing is.
func (j *judge) check(s *state) error {
	t := s.tree(j.r)
	seen := map[*node]string{}
	folders := map[*node]bool{j.r.root: true}
	t.walk(j.r.root, func(path string, in place, n *node) {
		if n.dir {
			folders[n] = true
		} else if in.text == storeName {
			seen[n] = path
		}
	})
	known := map[*node]*facts{}
	for _, n := range j.r.stores {
		var err error
		if known[n], err = j.store(s, t, n, seen[n]); err != nil {
			return err
		}
	}
	return j.files(s, t, folders, known)
}

// store checks a store, which lies at that path; "" is nowhere.
func (j *judge) store(s *state, t tree, n *node, path string) (f *facts, err error) {
	if path != "" {
		if f, err = j.open(s, t, n); err != nil {
			return nil, storeError{fmt.Errorf("%s: %w", path, err)}
		}
	}
	for _, a := range j.r.acks {
		if a.line > s.point.line || a.store != n {
			continue
		}
		if f == nil {
			return nil, fmt.Errorf("%s, and the store is not there", a.what)
		}
		if a.need == nil {
			continue
		}
		if err := a.need(f); err != nil {
			return nil, fmt.Errorf("%s: %w", a.what, err)
		}
	}
	return f, nil
}

func (j *judge) open(s *state, t tree, n *node) (*facts, error) {
	im := j.images[n]
	if im == nil {
		var err error
		if im, err = newImage(n, j.dir); err != nil {
			return nil, err
		}
		j.images[n] = im
	}
	var lock []byte
	for in, n := range t {
		if in.text == lockName {
			lock = s.content(n)
		}
	}
	return im.open(s, lock)
}

// files checks that rendered files are whole: what the program meant them to be
// at some time since they were last known to be durable. Those that it said to
// be there have to be. None shows more than the store beside it holds.
func (j *judge) files(s *state, t tree, folders map[*node]bool, known map[*node]*facts) error {
	told := -1 // line of the last promise about files
	what := ""
	for _, a := range j.r.acks {
		if a.files && a.line <= s.point.line && a.line > told {
			told, what = a.line, a.what
		}
	}
	for in, versions := range j.r.versions {
		least, due := -1, -1
		for i, v := range versions {
			if v.op.durable <= s.point.line {
				least = i
			}
			if v.op.enter <= told {
				due = i
			}
		}
		found, err := j.version(s, t[in], versions)
		switch {
		case !folders[in.dir] && due >= 0 && versions[due].node != nil:
			return fmt.Errorf("%s, and the folder of %s is not there", what, in.text)
		case !folders[in.dir]:
		case err != nil:
			return fmt.Errorf("%s: %w", in.text, err)
		case found < due:
			return fmt.Errorf("%s, and %s is as it was before", what, in.text)
		case found < least:
			return fmt.Errorf("%s is older than what was synced", in.text)
		}
		store, ok := t[place{in.dir, storeName}]
		if !ok || found < 0 || !folders[in.dir] {
			continue
		}
		for _, prompt := range versions[found].prompts {
			if !known[store].session(prompt).outcome {
				return fmt.Errorf("%s shows prompt %d, of which the store holds no outcome", in.text, prompt)
			}
		}
	}
	return nil
}

// version tells which version of a file is there, -1 for none, as before the
// first.
func (j *judge) version(s *state, n *node, versions []version) (int, error) {
	for i := len(versions) - 1; i >= 0; i-- {
		v := versions[i]
		if v.node != n || v.op.enter > s.point.line {
			continue
		}
		if n == nil || s.settled(n) {
			return i, nil
		}
		content := s.content(n)
		if bytes.Equal(content, v.content) {
			return i, nil
		}
		return 0, fmt.Errorf("%d bytes that are not the %d that were meant", len(content), len(v.content))
	}
	if n == nil {
		return -1, nil
	}
	return 0, fmt.Errorf("a file that was never put there")
}

// materialise writes a state to a folder, which is created.
func (s *state) materialise(r *recording, dir string) (err error) {
	t := s.tree(r)
	if err := makeFolder(dir); err != nil {
		return err
	}
	t.walk(r.root, func(path string, in place, n *node) {
		if err != nil {
			return
		}
		if n.dir {
			err = makeFolder(filepath.Join(dir, path))
			return
		}
		err = writeFile(filepath.Join(dir, path), s.content(n))
	})
	return err
}
