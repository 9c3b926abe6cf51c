package verify

import (
	"database/sql"
	"fmt"
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

// duckDB reads with DuckDB.
type duckDB struct{}

func (duckDB) rows(path string, fn func([]string, []any) error) error {
	return query("FROM read_parquet("+quote(path)+")", fn)
}

func (duckDB) schema(path string) (string, error) {
	var b strings.Builder
	err := query("DESCRIBE FROM read_parquet("+quote(path)+")", func(_ []string, values []any) error {
		_, err := fmt.Fprintf(&b, "%v %v\n", values[0], values[1])
		return err
	})
	return b.String(), err
}

func (duckDB) metadata(path string) (map[string]string, error) {
	pairs := map[string]string{}
	err := query("SELECT decode(key), decode(value) FROM parquet_kv_metadata("+quote(path)+")", func(_ []string, values []any) error {
		pairs[values[0].(string)] = values[1].(string)
		return nil
	})
	return pairs, err
}
