package power

import (
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"

	"hermes-batch/db"
)

// image is a store's file as it is on the disk after a cut. One file serves all
// states: what is durable stays in it, the rest is put in and taken out again.
type image struct {
	node  *node
	path  string
	file  *os.File
	whole int // operations that are durable, and in the file
	undo  []undo

	hash  maphash.Seed
	known map[uint64]verdict // by choice, among the states with the same whole
	read  int                // states that were read
}

// undo is how to take an operation out again.
type undo struct {
	off  int64
	old  []byte
	size int64 // of the file before
}

// verdict is what opening a store gave.
type verdict struct {
	facts *facts
	err   error
}

func newImage(n *node, dir string) (*image, error) {
	dir = filepath.Join(dir, fmt.Sprint(n.id))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	im := &image{node: n, path: filepath.Join(dir, storeName), hash: maphash.MakeSeed(), known: map[uint64]verdict{}}
	var err error
	im.file, err = os.Create(im.path)
	return im, err
}

// open reads the store as it is in a state. Every so often it is opened to be
// written as well, as a resume does, beside whatever run.lock holds.
func (im *image) open(s *state, lock []byte) (*facts, error) {
	if err := im.advance(s.point.line); err != nil {
		return nil, err
	}
	key := mark(im.hash, im.node.ops[im.whole:], s.fates, im.node)
	if v, ok := im.known[key]; ok {
		return v.facts, v.err
	}
	if err := im.show(s); err != nil {
		return nil, err
	}
	im.read++
	f, err := readStore(im.path, db.Options{ReadOnly: true})
	if err == nil && im.read%recovered == 0 {
		err = im.recover(f, lock)
	}
	im.known[key] = verdict{f, err}
	if hidden := im.hide(); hidden != nil {
		return nil, hidden
	}
	return f, err
}

// recovered is every how many readings a store is opened to be written.
const recovered = 16

// advance makes durable operations part of the image.
func (im *image) advance(line int) error {
	for ; im.whole < len(im.node.ops) && im.node.ops[im.whole].durable <= line; im.whole++ {
		if err := im.put(im.node.ops[im.whole]); err != nil {
			return err
		}
		im.undo = im.undo[:0]
		clear(im.known)
	}
	return nil
}

// show puts in what a state has beyond that.
func (im *image) show(s *state) error {
	for _, o := range im.node.ops[im.whole:] {
		if o.enter > s.point.line {
			continue
		}
		for _, part := range s.fates[o].parts(o) {
			if err := im.put(part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (im *image) put(o *op) error {
	info, err := im.file.Stat()
	if err != nil {
		return err
	}
	size, end := info.Size(), o.off+int64(len(o.data))
	if o.data == nil || end > size {
		u := undo{size: size, off: end}
		if end < size {
			u.old = make([]byte, size-end)
			if _, err := im.file.ReadAt(u.old, end); err != nil {
				return err
			}
		}
		im.undo = append(im.undo, u)
		if err := im.file.Truncate(end); err != nil {
			return err
		}
	}
	if len(o.data) == 0 {
		return nil
	}
	old := make([]byte, len(o.data))
	if _, err := im.file.ReadAt(old, o.off); err != nil {
		return err
	}
	im.undo = append(im.undo, undo{off: o.off, old: old, size: max(size, end)})
	_, err = im.file.WriteAt(o.data, o.off)
	return err
}

// hide takes out what show put in.
func (im *image) hide() error {
	for i := len(im.undo) - 1; i >= 0; i-- {
		u := im.undo[i]
		if err := im.file.Truncate(u.size); err != nil {
			return err
		}
		if _, err := im.file.WriteAt(u.old, u.off); err != nil {
			return err
		}
	}
	im.undo = im.undo[:0]
	return nil
}

// recover opens a copy of the store to be written, closes it and reads it again.
func (im *image) recover(before *facts, lock []byte) error {
	dir, err := os.MkdirTemp(filepath.Dir(im.path), "recover-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	content, err := os.ReadFile(im.path)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, storeName)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	if lock != nil {
		if err := os.WriteFile(filepath.Join(dir, lockName), lock, 0o600); err != nil {
			return err
		}
	}
	for range 2 {
		after, err := readStore(path, db.Options{})
		if err != nil {
			return fmt.Errorf("opened to be written: %w", err)
		}
		if after.prompts != before.prompts || after.outcomes != before.outcomes {
			return fmt.Errorf("opened to be written it holds %d prompts and %d outcomes, not %d and %d",
				after.prompts, after.outcomes, before.prompts, before.outcomes)
		}
	}
	return nil
}

func (im *image) close() { im.file.Close() }
