package power

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// recording is what calls of the program, one after the other, did in a folder.
type recording struct {
	name     string
	dir      string // absolute, without symbolic links
	root     *node
	nodes    int
	lines    int
	ops      []*op
	names    []*op // those of ops that change names
	barriers []*barrier
	acks     []ack
	versions map[place][]version
	stores   []*node // files that were called run.db
}

// version is one content of a rendered file: what the program meant it to be
// when it gave it its name. Without a node the file was removed.
type version struct {
	op      *op
	node    *node
	content []byte
	prompts []int // that it shows to have an outcome
}

// newRecording begins with an empty folder.
func newRecording(name, dir string) *recording {
	r := &recording{name: name, dir: dir, versions: map[place][]version{}}
	r.root = r.newNode(true)
	return r
}

func (r *recording) newNode(dir bool) *node {
	r.nodes++
	n := &node{id: r.nodes, dir: dir}
	if dir {
		n.kids = map[string]*node{}
	}
	return n
}

// scoped tells whether a path lies in the recorded folder.
func (r *recording) scoped(path string) bool {
	return path == r.dir || strings.HasPrefix(path, r.dir+"/")
}

// find is the place of a path. The recorded folder itself has no place; it is
// found with an empty name.
func (r *recording) find(path string) (place, bool) {
	dir := r.root
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, r.dir), "/"), "/")
	for _, part := range parts[:len(parts)-1] {
		if dir = dir.kids[part]; dir == nil || !dir.dir {
			return place{}, false
		}
	}
	return place{dir, parts[len(parts)-1]}, true
}

// Files that are not rendered ones.
const (
	storeName = "run.db"
	lockName  = "run.lock"
)

// isRendered tells whether a name is one under which nothing but a whole file
// may ever be seen. That run.lock is whole nobody relies on.
func isRendered(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".tmp") && name != storeName && name != lockName
}

// noteVersions keeps what rendered files got, and which files are stores.
func (r *recording) noteVersions(o *op) {
	for _, e := range o.entries {
		switch {
		case e.node != nil && e.text == storeName && !slices.Contains(r.stores, e.node):
			r.stores = append(r.stores, e.node)
		case e.node != nil && e.node.dir || !isRendered(e.text):
		case e.node == nil && len(r.versions[e.place]) == 0: // a temporary name, or a folder
		case e.node == nil:
			r.versions[e.place] = append(r.versions[e.place], version{op: o})
		default:
			v := version{op: o, node: e.node, content: bytes.Clone(e.node.live)}
			v.prompts = promptsIn(e.text, v.content)
			r.versions[e.place] = append(r.versions[e.place], v)
		}
	}
}

// promptsIn are the prompts that a rendered file shows to have an outcome.
func promptsIn(name string, content []byte) (list []int) {
	switch {
	case name == "checkpoint.json":
		var c struct {
			Completed []int `json:"completed_prompts"`
		}
		_ = json.Unmarshal(content, &c) // half of a file shows nothing
		return c.Completed
	case strings.HasSuffix(name, ".jsonl"):
		for line := range bytes.Lines(content) {
			var row struct {
				Prompt *int `json:"prompt_index"`
			}
			if json.Unmarshal(line, &row) == nil && row.Prompt != nil && *row.Prompt >= 0 { // a bad line has none
				list = append(list, *row.Prompt)
			}
		}
	}
	return list
}

// verify compares what the recorded operations amount to with what is there.
func (r *recording) verify() error {
	seen := 0
	err := filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == r.dir || !e.IsDir() && !e.Type().IsRegular():
			return nil
		}
		seen++
		in, ok := r.find(path)
		if !ok || in.dir.kids[in.text] == nil {
			return fmt.Errorf("%s is there and was not recorded", path)
		}
		if n := in.dir.kids[in.text]; !n.dir {
			content, err := os.ReadFile(path)
			if err == nil && !bytes.Equal(content, n.live) {
				err = fmt.Errorf("%s has %d bytes, other ones than the %d that were recorded", path, len(content), len(n.live))
			}
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if recorded := count(r.root); recorded != seen {
		return fmt.Errorf("%d files and folders were recorded, %d are there", recorded, seen)
	}
	return nil
}

func count(dir *node) int {
	n := len(dir.kids)
	for _, kid := range dir.kids {
		if kid.dir {
			n += count(kid)
		}
	}
	return n
}
