package verify

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2" // the driver
)

// query runs a statement in a database of its own and calls fn with each row.
func query(statement string, fn func(names []string, values []any) error) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query(statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, targets := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if err := fn(names, values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// quote makes a path a literal.
func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", "''") + "'" }

// Schema is how DuckDB describes a Parquet file: a column a line.
func Schema(path string) (string, error) {
	var b strings.Builder
	err := query("DESCRIBE FROM read_parquet("+quote(path)+")", func(_ []string, values []any) error {
		_, err := fmt.Fprintf(&b, "%v %v\n", values[0], values[1])
		return err
	})
	return b.String(), err
}

// Compare compares trajectories.parquet with the rows of a JSONL file, "" for
// trajectories.jsonl beside it, and returns the number of rows.
func Compare(dir, lines string) (rows int, err error) {
	if lines == "" {
		lines = filepath.Join(dir, "trajectories.jsonl")
	}
	f, err := os.Open(lines)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	err = query("FROM read_parquet("+quote(filepath.Join(dir, "trajectories.parquet"))+")", func(names []string, values []any) error {
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
