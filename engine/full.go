package engine

import (
	"hermes-batch/db"
	"hermes-batch/tools"
)

const (
	// fullPiece is the size of the pieces in which a long result is stored, in
	// bytes. Each is durable before the next is read, so that one result takes
	// the memory of about four: as read, masked, packed and queued.
	fullPiece = 1 << 20
	// fullAtOnce is how many results are stored at a time, however many
	// workers there are: some 8 MiB in all.
	fullAtOnce = 2
)

// pieceBuffers are lent to those who store a long result.
type pieceBuffers chan []byte

func newPieceBuffers() pieceBuffers {
	b := make(pieceBuffers, fullAtOnce)
	for range fullAtOnce {
		b <- nil // made when it is needed
	}
	return b
}

func (b pieceBuffers) take() []byte {
	buf := <-b
	if buf == nil {
		buf = make([]byte, fullPiece)
	}
	return buf
}

func (b pieceBuffers) give(buf []byte) { b <- buf }

// fullParts stores all of what a result shows a part of, and returns the parts
// that name it. The result stands also if that is not there any more: a
// command may have changed or removed it.
func (s *session) fullParts(full *tools.Full) []db.Part {
	if full == nil {
		return nil
	}
	parts, err := s.storeFull(full)
	if err != nil {
		s.run.log.Warn("all of a long result is not in the store", "prompt", s.ord.Index(), "error", s.run.mask.text(err.Error()))
		return nil
	}
	return parts
}

func (s *session) storeFull(full *tools.Full) (parts []db.Part, err error) {
	in, err := full.Open(s.box.box)
	if in == nil || err != nil {
		return nil, err
	}
	defer in.Close()
	buf := s.run.pieces.take()
	defer s.run.pieces.give(buf)
	err = s.run.mask.pieces(in, buf, func(piece []byte) error {
		hash, err := s.run.store.PutBlob(piece)
		parts = append(parts, db.Part{Type: db.PartFull, Blob: hash})
		return err
	})
	return parts, err
}
