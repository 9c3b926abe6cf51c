package db

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
)

// What is needed of bbolt's file layout to look at a file before bbolt does,
// since bbolt trusts it. Numbers are in the byte order of the machine.
const (
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	metaOffset  = 16 // behind the page's header
	metaSize    = 64 // of which the last 8 are the checksum

	pageHeadSize = 16
	elementSize  = 16
	bucketHead   = 16

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	flagFreelist = 0x10
	flagBucket   = 0x01 // of a leaf's element

	firstPage   = 2 // the first that is no meta page
	minPageSize = 1 << 10
	maxPageSize = 1 << 24
	noFreelist  = 1<<64 - 1
)

// metaPage is one of the two roots of the file, the newer of which holds.
type metaPage struct {
	pageSize int64
	root     uint64 // page of the root bucket
	freelist uint64 // page of the list of free pages, or noFreelist
	pages    uint64 // number of pages in use, free ones included
	txid     uint64
}

var (
	errNoMeta = errors.New("no meta page")

	// errPageSize is a page size that bbolt would believe, since the checksum is
	// right, and go wrong with.
	errPageSize = damaged("page size of a meta page")
)

func readMeta(f io.ReaderAt, at int64) (metaPage, error) {
	var b [metaSize]byte
	if _, err := f.ReadAt(b[:], at+metaOffset); err != nil {
		return metaPage{}, errNoMeta
	}
	u32 := func(i int) uint32 { return binary.NativeEndian.Uint32(b[i:]) }
	u64 := func(i int) uint64 { return binary.NativeEndian.Uint64(b[i:]) }
	if u32(0) != metaMagic {
		return metaPage{}, errNoMeta
	}
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8])
	m := metaPage{pageSize: int64(u32(8)), root: u64(16), freelist: u64(32), pages: u64(40), txid: u64(48)}
	switch {
	case sum.Sum64() != u64(metaSize-8):
		return metaPage{}, damaged("checksum of a meta page differs")
	case u32(4) != metaVersion:
		return metaPage{}, ErrNotStore
	case m.pageSize < minPageSize || m.pageSize > maxPageSize || m.pageSize&(m.pageSize-1) != 0 || at > 0 && m.pageSize != at:
		return metaPage{}, errPageSize
	}
	return m, nil
}

// readMetas returns the two meta pages, or the error that each gave.
func readMetas(f io.ReaderAt) (metas [2]metaPage, errs [2]error) {
	metas[0], errs[0] = readMeta(f, 0)
	if errs[0] == nil {
		metas[1], errs[1] = readMeta(f, metas[0].pageSize)
		return metas, errs
	}
	for size := int64(minPageSize); size <= maxPageSize; size *= 2 {
		if metas[1], errs[1] = readMeta(f, size); errs[1] == nil || errors.Is(errs[1], errPageSize) {
			return metas, errs
		}
	}
	return metas, errs
}

// newestMeta returns the meta page that holds, and whether the other one is
// bad: the last commit was torn, or one of the two is damaged.
func newestMeta(f io.ReaderAt) (m metaPage, torn bool, err error) {
	metas, errs := readMetas(f)
	switch {
	case errors.Is(errs[0], errPageSize) || errors.Is(errs[1], errPageSize):
		return m, false, errPageSize
	case errs[0] == nil && errs[1] == nil:
		if metas[1].txid > metas[0].txid {
			return metas[1], false, nil
		}
		return metas[0], false, nil
	case errs[0] == nil:
		return metas[0], true, nil
	case errs[1] == nil:
		return metas[1], true, nil
	case errors.Is(errs[0], ErrDamaged):
		return m, true, errs[0]
	case errors.Is(errs[1], ErrDamaged):
		return m, true, errs[1]
	}
	return m, false, ErrNotStore
}

// pageHead is what every page begins with.
type pageHead struct {
	id       uint64
	flags    uint16
	count    int
	overflow uint64 // further pages that belong to it
}

func parsePageHead(b []byte) pageHead {
	return pageHead{
		id:       binary.NativeEndian.Uint64(b),
		flags:    binary.NativeEndian.Uint16(b[8:]),
		count:    int(binary.NativeEndian.Uint16(b[10:])),
		overflow: uint64(binary.NativeEndian.Uint32(b[12:])),
	}
}

// element is an entry of a page: a child's page, or a key and its value.
type element struct {
	key, value []byte
	from, to   int // where key and value lie in the page
	child      uint64
	isBucket   bool
}

func branchElement(b []byte, i int) (e element, ok bool) {
	at := pageHeadSize + i*elementSize
	pos, size := binary.NativeEndian.Uint32(b[at:]), binary.NativeEndian.Uint32(b[at+4:])
	e.child = binary.NativeEndian.Uint64(b[at+8:])
	e.key, ok = within(b[at:], uint64(pos), uint64(size))
	e.from, e.to = at+int(pos), at+int(pos)+int(size)
	return e, ok && size > 0
}

func leafElement(b []byte, i int) (e element, ok bool) {
	at := pageHeadSize + i*elementSize
	u32 := func(n int) uint64 { return uint64(binary.NativeEndian.Uint32(b[at+n:])) }
	e.isBucket = u32(0) == flagBucket
	if u32(0) > flagBucket {
		return e, false
	}
	if e.key, ok = within(b[at:], u32(4), u32(8)); !ok {
		return e, false
	}
	e.value, ok = within(b[at:], u32(4)+u32(8), u32(12))
	e.from = at + int(u32(4))
	e.to = e.from + len(e.key) + len(e.value)
	return e, ok && len(e.key) > 0
}

func within(b []byte, pos, size uint64) ([]byte, bool) {
	if pos > uint64(len(b)) || size > uint64(len(b))-pos {
		return nil, false
	}
	return b[pos : pos+size : pos+size], true
}
