package verify

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// checkIndexes compares what a file says about its columns and pages, for those
// who skip what they need not read, with the values in them.
func checkIndexes(path string) error {
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		return err
	}
	defer f.Close()
	for g := range f.NumRowGroups() {
		for c := range f.MetaData().NumColumns() {
			if err := checkChunk(f, g, c); err != nil {
				return fmt.Errorf("group %d, column %s: %w", g, f.MetaData().Schema.Column(c).Path(), err)
			}
		}
	}
	return nil
}

// checkChunk is for a column of a row group.
func checkChunk(f *file.Reader, group, column int) error {
	indexes, err := f.GetPageIndexReader().RowGroup(group)
	if err != nil || indexes == nil {
		return fmt.Errorf("no page indexes: %v", err)
	}
	var c chunk
	if c.index, err = indexes.GetColumnIndex(column); err != nil {
		return err
	}
	if c.offsets, err = indexes.GetOffsetIndex(column); err != nil {
		return err
	}
	if c.meta, err = f.MetaData().RowGroup(group).ColumnChunk(column); err != nil {
		return err
	}
	values, err := f.RowGroup(group).Column(column)
	if err != nil {
		return err
	}
	switch values := values.(type) {
	case *file.BooleanColumnChunkReader:
		return checkPages(c, values, func(a, b bool) int { return cmp.Compare(bit(a), bit(b)) })
	case *file.Int64ColumnChunkReader:
		return checkPages(c, values, cmp.Compare[int64])
	case *file.Float64ColumnChunkReader:
		return checkPages(c, values, cmp.Compare[float64])
	case *file.ByteArrayColumnChunkReader:
		return checkPages(c, values, func(a, b parquet.ByteArray) int { return bytes.Compare(a, b) })
	}
	return fmt.Errorf("values of type %v", values.Type())
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// chunk is what a file says about a column of a row group.
type chunk struct {
	meta    *metadata.ColumnChunkMetaData
	index   metadata.ColumnIndex
	offsets metadata.OffsetIndex
}

// pages are the values of a column, with the levels of their nesting.
type pages[T any] interface {
	HasNext() bool
	ReadBatchInPage(n int64, values []T, definition, repetition []int16) (levels int64, read int, err error)
}

func checkPages[T parquet.ColumnTypes](c chunk, in pages[T], compare func(a, b T) int) error {
	index, ok := c.index.(*metadata.TypedColumnIndex[T])
	if !ok || c.offsets == nil {
		return errors.New("no page index")
	}
	low, high, err := bounds[T](c)
	if err != nil {
		return err
	}
	n := c.meta.NumValues()
	values, definition, repetition := make([]T, n), make([]int16, n), make([]int16, n)
	places, empty := c.offsets.GetPageLocations(), index.GetNullPages()
	page, row := 0, int64(0)
	for ; in.HasNext(); page++ {
		levels, read, err := in.ReadBatchInPage(n, values, definition, repetition)
		if err != nil {
			return err
		}
		if page >= min(len(places), len(empty)) {
			return errors.New("more pages than in the index")
		}
		if places[page].FirstRowIndex != row || empty[page] != (read == 0) {
			return fmt.Errorf("page %d has %d values, from row %d on; the index says row %d, empty %t",
				page, read, row, places[page].FirstRowIndex, empty[page])
		}
		for _, v := range values[:read] {
			if from, to := index.MinValues()[page], index.MaxValues()[page]; compare(v, from) < 0 || compare(v, to) > 0 {
				return fmt.Errorf("page %d has %.80v; the index says %.80v to %.80v", page, v, from, to)
			}
			if low != nil && (compare(v, *low) < 0 || compare(v, *high) > 0) {
				return fmt.Errorf("page %d has %.80v; the footer says %.80v to %.80v", page, v, *low, *high)
			}
		}
		row += begun(repetition[:levels])
	}
	if page < len(places) {
		return fmt.Errorf("%d pages, the index has %d", page, len(places))
	}
	return nil
}

// begun counts the rows that begin with one of the levels.
func begun(repetition []int16) (rows int64) {
	for _, level := range repetition {
		if level == 0 {
			rows++
		}
	}
	return rows
}

// bounds are those in the footer. Columns of long text may have none.
func bounds[T parquet.ColumnTypes](c chunk) (low, high *T, err error) {
	stats, err := c.meta.Statistics()
	if err != nil {
		return nil, nil, err
	}
	if s, ok := stats.(interface {
		HasMinMax() bool
		Min() T
		Max() T
	}); ok && s.HasMinMax() {
		from, to := s.Min(), s.Max()
		return &from, &to, nil
	}
	if c.meta.Type() != parquet.Types.ByteArray {
		return nil, nil, errors.New("no bounds in the footer")
	}
	return nil, nil, nil
}
