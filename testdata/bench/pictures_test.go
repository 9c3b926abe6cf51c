package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hermes-batch/testdata/figures"
)

// The pictures beside the files of figures are drawn from them.
func TestPictures(t *testing.T) {
	const published = "../figures"
	all, err := figures.LoadAll(published)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := draw(all, dir); err != nil {
		t.Fatal(err)
	}
	for _, p := range pictures {
		if _, measured := all[p.from]; !measured {
			continue
		}
		want, err := os.ReadFile(filepath.Join(dir, p.file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(published, p.file))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s does not show the figures of %s.json (%v): go run ./testdata/bench -publish", p.file, p.from, err)
		}
	}
}
