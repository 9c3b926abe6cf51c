package db

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
)

const (
	// maxDepth is far more than a tree of any possible size needs.
	maxDepth = 48

	// maxPageBytes is more than the largest page has, a list of all free
	// pages of a large file.
	maxPageBytes = 256 << 20

	// maxFaults is where a walk stops to look for more.
	maxFaults = 20
)

// inspect looks at a file before bbolt maps it. With its list of free pages
// left out (the program that held it did not close it), bbolt reads all pages,
// and in a goroutine whose panics nobody can catch: then all are looked at.
// Otherwise only those are that lead to others.
func inspect(f *os.File, readOnly bool, log *slog.Logger) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrNotStore
	}
	m, torn, err := newestMeta(f)
	if err != nil {
		return err
	}
	if torn {
		log.Warn("the last commit of the store is torn or damaged, the one before it holds", "path", f.Name())
	}
	// A reader is given no list of free pages, so it needs none to be found.
	w := newWalker(f, info.Size(), m, m.freelist == noFreelist && !readOnly)
	if w.walk(); len(w.faults) > 0 {
		return damaged("%s", w.faults[0])
	}
	return nil
}

// walker follows the pages of a file without trusting any of them.
type walker struct {
	f      io.ReaderAt
	size   int64
	meta   metaPage
	full   bool // look at leaves too
	strict bool // expect no gaps, and zeros where nothing is stored
	seen   []uint64
	pages  [maxDepth][]byte
	faults []string
}

func newWalker(f io.ReaderAt, size int64, m metaPage, full bool) *walker {
	return &walker{f: f, size: size, meta: m, full: full}
}

func (w *walker) fault(format string, args ...any) {
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, fmt.Sprintf(format, args...))
	}
}

func (w *walker) walk() {
	if w.meta.pages > uint64(w.size/w.meta.pageSize) {
		w.fault("%d pages of %d bytes in a file of %d bytes: it was cut", w.meta.pages, w.meta.pageSize, w.size)
		return
	}
	w.seen = make([]uint64, w.meta.pages/64+1)
	for id := uint64(0); w.strict && id < firstPage; id++ {
		if h, ok := w.head(id); ok && h.flags != flagMeta {
			w.fault("page %d has type %#x where a meta page belongs", id, h.flags)
		}
	}
	w.tree(w.meta.root, nil, nil, 0, true)
	if w.meta.freelist != noFreelist && len(w.faults) == 0 {
		w.freelist()
	}
}

// mark notes that something refers to pages; each belongs to one owner.
func (w *walker) mark(id, count uint64) bool {
	if id < firstPage || id >= w.meta.pages || count > w.meta.pages-id {
		w.fault("page %d does not exist", id)
		return false
	}
	for ; count > 0; id, count = id+1, count-1 {
		if w.seen[id/64]&(1<<(id%64)) != 0 {
			w.fault("page %d is used twice", id)
			return false
		}
		w.seen[id/64] |= 1 << (id % 64)
	}
	return true
}

func (w *walker) isMarked(id uint64) bool { return w.seen[id/64]&(1<<(id%64)) != 0 }

// head reads the head of a page, which must exist.
func (w *walker) head(id uint64) (pageHead, bool) {
	var b [pageHeadSize]byte
	if _, err := w.f.ReadAt(b[:], int64(id)*w.meta.pageSize); err != nil {
		w.fault("page %d: %v", id, err)
		return pageHead{}, false
	}
	h := parsePageHead(b[:])
	if h.id != id {
		w.fault("page %d says it is page %d", id, h.id)
		return pageHead{}, false
	}
	return h, true
}

// read marks a page and reads it with what belongs to it, into the buffer of
// that depth.
func (w *walker) read(id uint64, depth int) (pageHead, []byte) {
	if !w.mark(id, 1) {
		return pageHead{}, nil
	}
	h, ok := w.head(id)
	if !ok || h.overflow > 0 && !w.mark(id+1, h.overflow) {
		return pageHead{}, nil
	}
	n := int(h.overflow+1) * int(w.meta.pageSize)
	if n > maxPageBytes {
		w.fault("page %d says it has %d bytes", id, n)
		return pageHead{}, nil
	}
	b := slices.Grow(w.pages[depth][:0], n)[:n]
	if _, err := w.f.ReadAt(b, int64(id)*w.meta.pageSize); err != nil {
		w.fault("page %d: %v", id, err)
		return pageHead{}, nil
	}
	if len(b) <= maxInline {
		w.pages[depth] = b
	}
	return h, b
}

// tree walks a tree whose keys lie in [low, high); nil is no bound. leaves
// says whether its leaves are read.
func (w *walker) tree(id uint64, low, high []byte, depth int, leaves bool) {
	if depth >= maxDepth {
		w.fault("page %d lies %d deep", id, depth)
		return
	}
	h, b := w.read(id, depth)
	if b == nil {
		return
	}
	switch h.flags {
	case flagBranch:
		w.branch(h, b, low, high, depth, leaves)
	case flagLeaf:
		w.leaf(h, b, low, high, depth, false)
	default:
		w.fault("page %d has type %#x in a tree", id, h.flags)
	}
}

func (w *walker) fits(h pageHead, b []byte) bool {
	if pageHeadSize+h.count*elementSize <= len(b) {
		return true
	}
	w.fault("page %d has no room for %d elements", h.id, h.count)
	return false
}

func (w *walker) branch(h pageHead, b []byte, low, high []byte, depth int, leaves bool) {
	if h.count == 0 {
		w.fault("page %d branches to nothing", h.id)
	}
	if h.count == 0 || !w.fits(h, b) {
		return
	}
	next, ok := branchElement(b, 0)
	deeper := leaves || w.hasBranches(next.child)
	end := pageHeadSize + h.count*elementSize
	for i := 0; i < h.count && len(w.faults) < maxFaults; i++ {
		e, to := next, high
		if !ok || w.strict && e.from != end || !w.inOrder(h.id, low, e.key, high, i > 0) {
			w.fault("page %d element %d is bad", h.id, i)
			return
		}
		end = e.to
		if i+1 < h.count {
			if next, ok = branchElement(b, i+1); ok {
				to = next.key
			}
		}
		if deeper {
			w.tree(e.child, e.key, to, depth+1, leaves)
		} else {
			w.mark(e.child, 1)
		}
		low = e.key
	}
}

// hasBranches tells whether the children of a branch are branches, by the
// first of them: all leaves of a tree lie at one depth.
func (w *walker) hasBranches(child uint64) bool {
	if child < firstPage || child >= w.meta.pages {
		return true // to be found bad there
	}
	h, ok := w.head(child)
	return !ok || h.flags != flagLeaf
}

// leaf looks at the elements of a leaf. whole says that nothing follows them.
func (w *walker) leaf(h pageHead, b []byte, low, high []byte, depth int, whole bool) {
	if !w.fits(h, b) {
		return
	}
	end := pageHeadSize + h.count*elementSize
	for i := 0; i < h.count && len(w.faults) < maxFaults; i++ {
		e, ok := leafElement(b, i)
		if !ok || w.strict && e.from != end || !w.inOrder(h.id, low, e.key, high, i > 0) {
			w.fault("page %d element %d is bad", h.id, i)
			return
		}
		low, end = e.key, e.to
		if e.isBucket {
			w.bucket(h.id, e, depth)
		}
	}
	if whole && w.strict && end != len(b) {
		w.fault("page %d: a bucket has %d bytes too many", h.id, len(b)-end)
	}
}

// bucket walks a bucket: a tree of its own, or a leaf inside the value.
func (w *walker) bucket(id uint64, e element, depth int) {
	if depth++; depth >= maxDepth {
		w.fault("page %d: bucket %.40q lies %d deep", id, e.key, depth)
		return
	}
	if len(e.value) < bucketHead {
		w.fault("page %d: bucket %.40q is cut", id, e.key)
		return
	}
	if sequence := binary.NativeEndian.Uint64(e.value[8:]); w.strict && sequence != 0 {
		w.fault("page %d: bucket %.40q has sequence %d", id, e.key, sequence)
	}
	if root := binary.NativeEndian.Uint64(e.value); root != 0 {
		w.tree(root, nil, nil, depth, w.full)
		return
	}
	inline := e.value[bucketHead:]
	if len(inline) < pageHeadSize {
		w.fault("page %d: bucket %.40q is cut", id, e.key)
		return
	}
	h := parsePageHead(inline)
	if h.flags != flagLeaf || w.strict && (h.id != 0 || h.overflow != 0) {
		w.fault("page %d: bucket %.40q has a bad head", id, e.key)
		return
	}
	h.id = id
	w.leaf(h, inline, nil, nil, depth, true)
}

// inOrder tells whether low <= key < high, or low < key for later elements.
func (w *walker) inOrder(id uint64, low, key, high []byte, later bool) bool {
	c := bytes.Compare(low, key)
	if (low != nil && (c > 0 || later && c == 0)) || (high != nil && bytes.Compare(key, high) >= 0) {
		w.fault("page %d has keys out of order", id)
		return false
	}
	return true
}

// freelist looks at the list of free pages.
func (w *walker) freelist() {
	h, b := w.read(w.meta.freelist, 0)
	if b == nil {
		return
	}
	if h.flags != flagFreelist {
		w.fault("page %d has type %#x where the free pages are listed", h.id, h.flags)
		return
	}
	ids := b[pageHeadSize:]
	count := uint64(h.count)
	if count == 0xFFFF {
		count, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		w.fault("page %d lists %d free pages", h.id, count)
		return
	}
	last := uint64(0)
	for ids = ids[:8*count]; len(ids) > 0; ids = ids[8:] {
		id := binary.NativeEndian.Uint64(ids)
		if id < firstPage || id >= w.meta.pages || id <= last || w.isMarked(id) {
			w.fault("page %d is listed as free", id)
			return
		}
		last = id
	}
}
