package power

import (
	"cmp"
	"slices"
	"strings"
)

// node is a file or a folder, whatever its names are.
type node struct {
	id   int
	dir  bool
	live []byte           // content as the program sees it
	kids map[string]*node // of a folder, as the program sees it
	ops  []*op            // that change its content, in the order of their ends
}

// place is a name in a folder.
type place struct {
	dir  *node
	text string
}

// entry is what a place holds after an operation: nil is nothing.
type entry struct {
	place
	node *node
}

// op is one change of the disk: of a file's content (node is set) or of names
// (entries is), which happen together or not at all.
type op struct {
	enter, exit int // lines of the recording: from enter on it may be on the disk
	durable     int // from this line on it is on the disk; never, if no sync covers it
	phase       string

	node *node
	off  int64
	data []byte // nil: the file gets off bytes long

	entries []entry
}

func (o *op) isTruncation() bool { return o.node != nil && o.data == nil }

// apply makes the operation in content.
func (o *op) apply(content []byte) []byte {
	if o.isTruncation() {
		return resize(content, o.off)
	}
	if end := o.off + int64(len(o.data)); end > int64(len(content)) {
		content = resize(content, end)
	}
	copy(content[o.off:], o.data)
	return content
}

// resize cuts content or fills it up with zeros.
func resize(content []byte, size int64) []byte {
	if size <= int64(len(content)) {
		return content[:size]
	}
	old := len(content)
	content = slices.Grow(content, int(size)-old)[:size]
	clear(content[old:])
	return content
}

// barrier is a finished sync of a file, a folder or, if node is nil, of all.
type barrier struct {
	enter, exit int
	phase       string
	node        *node
}

// covers tells whether the barrier makes an operation durable: one that had
// ended when the sync began.
func (b *barrier) covers(o *op) bool {
	if o.exit >= b.enter {
		return false
	}
	if b.node == nil || b.node == o.node {
		return true
	}
	return slices.ContainsFunc(o.entries, func(e entry) bool { return e.dir == b.node })
}

// syncs says which syncs count.
type syncs int

const (
	allSyncs syncs = iota
	noSyncs        // as if the program never synced
	noFolderSyncs
)

func (s syncs) counts(b *barrier) bool {
	switch s {
	case noSyncs:
		return false
	case noFolderSyncs:
		return b.node != nil && !b.node.dir
	}
	return true
}

// settle finds for every operation from where on it is durable.
func (r *recording) settle(s syncs) {
	of := map[*node][]*barrier{}
	for _, b := range r.barriers {
		if s.counts(b) {
			of[b.node] = append(of[b.node], b)
		}
	}
	for _, list := range of {
		slices.SortFunc(list, func(a, b *barrier) int { return cmp.Compare(a.exit, b.exit) })
	}
	for _, o := range r.ops {
		o.durable = never
		targets := []*node{nil, o.node}
		for _, e := range o.entries {
			targets = append(targets, e.dir)
		}
		for _, n := range targets {
			for _, b := range of[n] {
				if b.covers(o) {
					o.durable = min(o.durable, b.exit)
					break
				}
			}
		}
	}
}

// point is a moment at which the power may be cut: after that line.
type point struct {
	line  int
	phase string
}

// points are the moments at which the set of possible states, or of what must
// be there, changes.
func (r *recording) points() []point {
	at := map[int]string{}
	for _, a := range r.acks {
		at[a.line] = a.phase
	}
	for _, o := range r.ops {
		at[o.enter], at[o.exit] = o.phase, o.phase
	}
	for _, b := range r.barriers {
		at[b.exit] = b.phase
	}
	list := make([]point, 0, len(at))
	for line, phase := range at {
		if line != never {
			list = append(list, point{line, phase})
		}
	}
	slices.SortFunc(list, func(a, b point) int { return cmp.Compare(a.line, b.line) })
	return list
}

// open are the operations that may be on the disk after a cut at that line,
// and need not be, in the order of their ends.
func (r *recording) open(line int) []*op {
	var list []*op
	for _, o := range r.ops {
		if o.enter <= line && o.durable > line {
			list = append(list, o)
		}
	}
	return list
}

// state is the disk after a power cut.
type state struct {
	number int
	point  point
	how    string       // the choice, in a word
	fates  map[*op]fate // of the operations that are not durable
}

// holds tells whether an operation, or a part of it, is on the disk.
func (s *state) holds(o *op) bool { return o.durable <= s.point.line || s.fates[o].kept }

// tree is the names of a state.
func (s *state) tree(r *recording) tree {
	t := tree{}
	for _, o := range r.names {
		if o.enter <= s.point.line && s.holds(o) {
			for _, e := range o.entries {
				t.put(e)
			}
		}
	}
	return t
}

// content is what a file holds.
func (s *state) content(n *node) []byte {
	var content []byte
	for _, o := range n.ops {
		if o.enter > s.point.line {
			continue
		}
		if o.durable <= s.point.line {
			content = o.apply(content)
			continue
		}
		for _, part := range s.fates[o].parts(o) {
			content = part.apply(content)
		}
	}
	return content
}

// settled tells whether all that was done to a file is durable.
func (s *state) settled(n *node) bool {
	for _, o := range n.ops {
		if o.enter <= s.point.line && o.durable > s.point.line {
			return false
		}
	}
	return true
}

// tree is what folders hold.
type tree map[place]*node

func (t tree) put(e entry) {
	if e.node == nil {
		delete(t, e.place)
		return
	}
	t[e.place] = e.node
}

// walk calls fn with the path of everything that can be reached, folders before
// what is in them.
func (t tree) walk(root *node, fn func(path string, in place, n *node)) {
	kids := map[*node][]place{}
	for in := range t {
		kids[in.dir] = append(kids[in.dir], in)
	}
	var down func(dir *node, path string)
	down = func(dir *node, path string) {
		list := kids[dir]
		slices.SortFunc(list, func(a, b place) int { return cmp.Compare(a.text, b.text) })
		for _, in := range list {
			n := t[in]
			fn(path+in.text, in, n)
			if n.dir {
				down(n, path+in.text+"/")
			}
		}
	}
	down(root, "")
}

// find is what lies at a path, nil if nothing does.
func (t tree) find(root *node, path string) *node {
	n := root
	for _, part := range strings.Split(path, "/") {
		n = t[place{n, part}]
	}
	return n
}
