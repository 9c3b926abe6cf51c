package verify

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// arrowGo reads with Apache Arrow's implementation in Go.
type arrowGo struct{}

// open calls fn with a file's reader.
func (arrowGo) open(path string, fn func(*pqarrow.FileReader) error) error {
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 1024}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	return fn(r)
}

func (a arrowGo) rows(path string, fn func([]string, []any) error) error {
	return a.open(path, func(r *pqarrow.FileReader) error {
		batches, err := r.GetRecordReader(context.Background(), nil, nil)
		if err != nil {
			return err
		}
		defer batches.Release()
		for batches.Next() {
			if err := eachRow(batches.RecordBatch(), fn); err != nil {
				return err
			}
		}
		return batches.Err()
	})
}

func eachRow(batch arrow.RecordBatch, fn func([]string, []any) error) error {
	names, values := make([]string, batch.NumCols()), make([]any, batch.NumCols())
	for c := range names {
		names[c] = batch.ColumnName(c)
	}
	for row := range int(batch.NumRows()) {
		for c, column := range batch.Columns() {
			values[c] = valueAt(column, row)
		}
		if err := fn(names, values); err != nil {
			return err
		}
	}
	return nil
}

// valueAt is one value of a column; of a type that no column should have, the
// type.
func valueAt(column arrow.Array, i int) any {
	if column.IsNull(i) {
		return nil
	}
	switch column := column.(type) {
	case *array.Boolean:
		return column.Value(i)
	case *array.Int64:
		return column.Value(i)
	case *array.Float64:
		return column.Value(i)
	case *array.String:
		return column.Value(i)
	case *array.List:
		from, to := column.ValueOffsets(i)
		list := make([]any, 0, to-from)
		for at := from; at < to; at++ {
			list = append(list, valueAt(column.ListValues(), int(at)))
		}
		return list
	case *array.Struct:
		fields := map[string]any{}
		for f, field := range column.DataType().(*arrow.StructType).Fields() {
			fields[field.Name] = valueAt(column.Field(f), i)
		}
		return fields
	}
	return column.DataType()
}

func (a arrowGo) schema(path string) (text string, err error) {
	err = a.open(path, func(r *pqarrow.FileReader) error {
		schema, err := r.Schema()
		if err != nil {
			return err
		}
		for _, field := range schema.Fields() {
			text += fmt.Sprintf("%s %v nullable=%t\n", field.Name, field.Type, field.Nullable)
		}
		return nil
	})
	return text, err
}

func (a arrowGo) metadata(path string) (map[string]string, error) {
	pairs := map[string]string{}
	err := a.open(path, func(r *pqarrow.FileReader) error {
		for _, pair := range r.ParquetReader().MetaData().KeyValueMetadata() {
			pairs[pair.Key] = pair.GetValue()
		}
		return nil
	})
	return pairs, err
}
