package verify

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
)

// reader is a foreign reader of Parquet files.
type reader interface {
	// rows calls fn with the columns of each row. Lists are []any, structs are
	// map[string]any, numbers int64 or float64; values live as long as the call.
	rows(path string, fn func(names []string, values []any) error) error

	// schema describes the columns.
	schema(path string) (string, error)

	// metadata are the pairs of keys and values in the footer.
	metadata(path string) (map[string]string, error)
}

// readers are the foreign readers by name.
var readers = map[string]reader{"duckdb": duckDB{}, "arrow": arrowGo{}}

// Compare compares trajectories.parquet, as each reader sees it, with the rows
// of a JSONL file, "" for trajectories.jsonl beside it, and its indexes with its
// values. It returns the number of rows.
func Compare(dir, lines string) (rows int, err error) {
	if lines == "" {
		lines = filepath.Join(dir, "trajectories.jsonl")
	}
	path := filepath.Join(dir, "trajectories.parquet")
	for name, reader := range readers {
		if rows, err = compare(reader, path, lines); err != nil {
			return rows, fmt.Errorf("%s: %w", name, err)
		}
	}
	return rows, checkIndexes(path)
}

func compare(reader reader, path, lines string) (rows int, err error) {
	f, err := os.Open(lines)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	err = reader.rows(path, func(names []string, values []any) error {
		rows++
		line, err := in.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("row %d is in the Parquet copy only: %w", rows, err)
		}
		return same(line, names, values)
	})
	if err != nil {
		return rows, fmt.Errorf("row %d: %w", rows, err)
	}
	if rest, err := in.ReadBytes('\n'); err != io.EOF || len(rest) > 0 {
		return rows, fmt.Errorf("row %d is in the JSONL only: %v", rows+1, err)
	}
	return rows, nil
}

// same compares one row.
func same(line []byte, names []string, values []any) error {
	want, err := columns(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return fmt.Errorf("JSONL: %w", err)
	}
	if len(names) != len(want) {
		return fmt.Errorf("columns %q for %d keys", names, len(want))
	}
	for i, name := range names {
		if err := differ(name, values[i], want[name]); err != nil {
			return err
		}
	}
	return nil
}

var errDiffers = errors.New("differs")

// differ names the first value that is not as wanted.
func differ(path string, got, want any) error {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok || len(got) != len(want) {
			return fmt.Errorf("%s %w: %.300v, want %.300v", path, errDiffers, got, want)
		}
		for name := range want {
			if err := differ(path+"."+name, got[name], want[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return fmt.Errorf("%s %w: %.300v, want %.300v", path, errDiffers, got, want)
		}
		for i := range want {
			if err := differ(fmt.Sprintf("%s[%d]", path, i), got[i], want[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s %w: %T %.300v, want %T %.300v", path, errDiffers, got, got, want, want)
	}
	return nil
}
