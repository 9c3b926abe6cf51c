package export

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hermes-batch/db"
)

// parquetText is a Parquet file as text: its schema, and its rows as JSON.
func parquetText(t testing.TB, path string) string {
	t.Helper()
	rows, err := parquet.ReadFile[record](path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(openParquet(t, path).Schema().String() + "\n")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, row := range rows {
		if err := enc.Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func openParquet(t testing.TB, path string) *parquet.File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(strings.NewReader(string(data)), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestParquetOfSimilarRunsIsEqual(t *testing.T) {
	a, b := everything(t), everything(t)
	a.render(a.renderer(Options{}), Final)
	b.render(b.renderer(Options{}), Stop)
	if !maps.Equal(a.files(a.dir), b.files(b.dir)) {
		t.Error("equal stores give different files")
	}
}

func TestParquetSchemaDoesNotDependOnData(t *testing.T) {
	tools, empty := everything(t), newFixture(t)
	tools.render(tools.renderer(Options{}), Final)
	empty.register(1, nil, numbered(1)...)
	empty.render(empty.renderer(Options{}), Final)
	var schemas []string
	for _, f := range []*fixture{tools, empty} {
		schemas = append(schemas, openParquet(t, filepath.Join(f.dir, "trajectories.parquet")).Schema().String())
	}
	if schemas[0] != schemas[1] || strings.Contains(schemas[0], "optional") {
		t.Errorf("schemas\n%s\nand\n%s", schemas[0], schemas[1])
	}
}

// TestParquetMetadata: files say which columns they have and whether they are
// all of a run.
func TestParquetMetadata(t *testing.T) {
	f := newFixture(t)
	f.register(2, nil, numbered(3)...)
	for answered, pending := range []string{"3", "2", "1", "0"} {
		if answered > 0 {
			f.answer(answered-1, completed())
		}
		f.render(f.renderer(Options{}), Final)
		meta := openParquet(t, filepath.Join(f.dir, "trajectories.parquet")).Metadata()
		got := map[string]string{}
		for _, pair := range meta.KeyValueMetadata {
			got[pair.Key] = pair.Value
		}
		want := map[string]string{"hermes_batch.schema": "1", "hermes_batch.pending": pending}
		if !maps.Equal(got, want) || !strings.HasPrefix(meta.CreatedBy, "hermes-batch ") {
			t.Errorf("%d of 3 answered: %q, created by %q", answered, got, meta.CreatedBy)
		}
	}
}

// TestParquetIndexHoldsForLongText: whoever skips pages by their bounds must
// not miss a text.
func TestParquetIndexHoldsForLongText(t *testing.T) {
	f := newFixture(t)
	prompts := numbered(40)
	for i := range prompts {
		prompts[i].Extra = []byte(`{"text":"` + strings.Repeat("ü", 20_000) + `"}`)
	}
	f.register(10, nil, prompts...)
	for i := range prompts {
		f.answer(i, completed())
	}
	f.render(f.renderer(Options{}), Final)
	file := openParquet(t, filepath.Join(f.dir, "trajectories.parquet"))
	if size := file.Size(); size > 1<<17 {
		t.Errorf("%d bytes: long text is repeated", size)
	}
	for _, group := range file.RowGroups() {
		for _, chunk := range group.ColumnChunks() {
			index, err := chunk.ColumnIndex()
			f.must(err)
			pages := chunk.Pages()
			for i := range index.NumPages() {
				page, err := pages.ReadPage()
				f.must(err)
				low, high, ok := page.Bounds()
				kind := chunk.Type()
				if ok && (kind.Compare(index.MinValue(i), low) > 0 || kind.Compare(index.MaxValue(i), high) < 0) {
					t.Errorf("column %d, page %d of %d: bounds [%.20s, %.20s] do not hold for [%.20s, %.20s]", chunk.Column(), i, index.NumPages(),
						index.MinValue(i), index.MaxValue(i), low, high)
				}
				parquet.Release(page)
			}
			f.must(pages.Close())
		}
	}
}

func TestParquetHasRowGroupsOfBoundedSize(t *testing.T) {
	const rows, size = 20, 100_000
	f := newFixture(t)
	f.register(10, nil, numbered(rows)...)
	for i := range rows {
		f.session(db.MakeOrdinal(i, 0), completed(), begun(), gpt(strings.Repeat("long text ", size/10), "t"))
	}
	r := f.renderer(Options{})
	f.must(r.prepare(Final))
	p := r.beginParquet()
	p.limit = 8 * size
	f.must(r.parquetRows(context.Background(), p, func(db.Ordinal, *db.Outcome, Verdict) error { return nil }))
	f.must(r.finishParquet(&Report{}, p, 0))
	file := openParquet(t, filepath.Join(f.dir, "trajectories.parquet"))
	if n := len(file.RowGroups()); n != 3 || file.NumRows() != rows {
		t.Errorf("%d rows in %d groups", file.NumRows(), n)
	}
}

func TestParquetIsReadBackBeforeItIsTrusted(t *testing.T) {
	f := everything(t)
	path := filepath.Join(f.dir, "trajectories.parquet")
	f.must(os.WriteFile(path, []byte("of before"), 0o644))
	r := f.renderer(Options{})
	f.must(r.prepare(Final))
	for name, spoil := range map[string]func(*parquetFile){
		"a row less":  func(p *parquetFile) { p.proof.rows++ },
		"other value": func(p *parquetFile) { p.proof.hash.Write([]byte("x")) },
		"cut":         func(p *parquetFile) { p.footer.out = cutting{p.file} },
	} {
		p := r.beginParquet()
		f.must(r.parquetRows(context.Background(), p, func(db.Ordinal, *db.Outcome, Verdict) error { return nil }))
		f.must(p.wait())
		spoil(p)
		err := r.finishParquet(&Report{}, p, 0)
		if !errors.Is(err, ErrWrite) || name != "cut" && !errors.Is(err, errProof) {
			t.Errorf("%s: %v", name, err)
		}
		if data, err := os.ReadFile(path); string(data) != "of before" {
			t.Errorf("%s: the file became %q, %v", name, data, err)
		}
		if _, err := os.Stat(temporary(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: temporary file is left: %v", name, err)
		}
	}
}

// cutting loses the last byte of everything.
type cutting struct{ *file }

func (c cutting) Write(p []byte) (int, error) {
	if _, err := c.file.Write(p[:len(p)-1]); err != nil {
		return 0, err
	}
	return len(p), nil
}

func TestDamagedParquetIsRenderedAgain(t *testing.T) {
	f := everything(t)
	f.render(f.renderer(Options{}), Final)
	path := filepath.Join(f.dir, "trajectories.parquet")
	want, err := os.ReadFile(path)
	f.must(err)
	for name, damage := range map[string][]byte{"cut": want[:len(want)/2], "longer": append(want[:len(want):len(want)], 'x'), "empty": nil} {
		f.must(os.WriteFile(path, damage, 0o644))
		f.must(os.WriteFile(temporary(path), want[:100], 0o644)) // of a killed program
		wantNames(t, f.render(f.renderer(Options{}), Final), Written, "trajectories.parquet")
		if got, err := os.ReadFile(path); string(got) != string(want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}
