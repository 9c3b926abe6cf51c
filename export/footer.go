package export

import (
	"bytes"
	"encoding/binary"
	"io"
	"iter"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// footer passes a Parquet file on and corrects its end. For columns without
// bounds the library writes an index that says that all their values are "",
// and readers that trust it would miss rows. Such columns get an index with
// bounds that hold for every text, and the footer is written anew with it.
type footer struct {
	out  io.Writer
	held *bytes.Buffer // what is written from the end of the last row group on
}

// highest is greater than every text in UTF-8.
var highest = []byte{0xff}

// Write implements io.Writer.
func (f *footer) Write(p []byte) (int, error) {
	if f.held != nil {
		return f.held.Write(p)
	}
	return f.out.Write(p)
}

// hold keeps back what is written from now on until close.
func (f *footer) hold() { f.held = new(bytes.Buffer) }

// close writes the end of the file that the view is of: the indexes of all
// columns, the offsets of their pages, and the footer with the places of both.
func (f *footer) close(view parquet.FileView) error {
	held, meta := f.held.Bytes(), view.Metadata()
	base := view.Size() - int64(len(held))
	body := len(held) - trailer - int(binary.LittleEndian.Uint32(held[len(held)-trailer:]))
	if len(meta.RowGroups) > 0 {
		body = int(meta.RowGroups[0].Columns[0].ColumnIndexOffset - base)
	}
	end := slices.Clone(held[:body])
	move := func(part []byte, offset *int64, length *int32) {
		*offset, *length = base+int64(len(end)), int32(len(part))
		end = append(end, part...)
	}
	for column := range chunks(meta) {
		index := held[column.ColumnIndexOffset-base:][:column.ColumnIndexLength]
		if isUnbounded(column.MetaData.PathInSchema) {
			var err error
			if index, err = widen(index); err != nil {
				return err
			}
		}
		move(index, &column.ColumnIndexOffset, &column.ColumnIndexLength)
	}
	for column := range chunks(meta) {
		move(held[column.OffsetIndexOffset-base:][:column.OffsetIndexLength], &column.OffsetIndexOffset, &column.OffsetIndexLength)
	}
	data, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		return err
	}
	end = append(end, data...)
	end = binary.LittleEndian.AppendUint32(end, uint32(len(data)))
	_, err = f.out.Write(append(end, "PAR1"...))
	return err
}

// trailer is the footer's length and the magic number.
const trailer = 8

// chunks are the column chunks of a file, in their order.
func chunks(meta *format.FileMetaData) iter.Seq[*format.ColumnChunk] {
	return func(yield func(*format.ColumnChunk) bool) {
		for g := range meta.RowGroups {
			columns := meta.RowGroups[g].Columns
			for c := range columns {
				if !yield(&columns[c]) {
					return
				}
			}
		}
	}
}

// widen makes the bounds of an index hold for every text.
func widen(data []byte) ([]byte, error) {
	var index format.ColumnIndex
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), data, &index); err != nil {
		return nil, err
	}
	for i := range index.MaxValues {
		if !index.NullPages[i] {
			index.MaxValues[i] = highest
		}
	}
	return thrift.Marshal(new(thrift.CompactProtocol), &index)
}

func isUnbounded(path []string) bool {
	return slices.ContainsFunc(unbounded, func(p []string) bool { return slices.Equal(p, path) })
}
