package export

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
)

// proof says what a Parquet file must read back as: how many rows, and the hash
// over the values of all of them with their places.
type proof struct {
	Rows int64
	Sum  [sha256.Size]byte
}

// prover makes a proof, row by row.
type prover struct {
	rows int64
	hash hash.Hash
	buf  []byte
}

// add takes a row in and returns the bytes of its values.
func (p *prover) add(row parquet.Row) (size int) {
	if p.hash == nil {
		p.hash = sha256.New()
	}
	p.rows++
	p.buf = p.buf[:0]
	for _, v := range row {
		p.buf = append(p.buf, byte(v.Kind()), byte(v.RepetitionLevel()), byte(v.DefinitionLevel()), byte(v.Column()))
		if v.Kind() != parquet.ByteArray || v.IsNull() {
			p.buf = binary.LittleEndian.AppendUint64(p.buf, v.Uint64())
			size += 8
			continue
		}
		data := v.ByteArray()
		size += len(data) + 4
		p.buf = binary.LittleEndian.AppendUint64(p.buf, uint64(len(data)))
		if len(data) < 1024 {
			p.buf = append(p.buf, data...)
			continue
		}
		p.hash.Write(p.buf)
		p.hash.Write(data)
		p.buf = p.buf[:0]
	}
	p.hash.Write(p.buf)
	return size
}

func (p *prover) proof() (made proof) {
	if p.hash == nil {
		p.hash = sha256.New()
	}
	made.Rows = p.rows
	p.hash.Sum(made.Sum[:0])
	return made
}

var errProof = errors.New("what was written reads back as something else")

// check reads a file back.
func (p proof) check(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var got prover
	if err := shield(func() error { return readRows(f, &got) }); err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if got.proof() != p {
		return fmt.Errorf("%w: %d rows for %d, or other values", errProof, got.rows, p.Rows)
	}
	return nil
}

func readRows(f *os.File, to *prover) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := parquet.OpenFile(f, info.Size(), parquet.ReadBufferSize(bufferSize))
	if err != nil {
		return err
	}
	for _, group := range file.RowGroups() {
		if err := readGroup(group, to); err != nil {
			return err
		}
	}
	return nil
}

func readGroup(group parquet.RowGroup, to *prover) (err error) {
	rows := group.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	var row [1]parquet.Row
	for {
		row[0] = row[0][:0]
		n, err := rows.ReadRows(row[:])
		if n > 0 {
			to.add(row[0])
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
