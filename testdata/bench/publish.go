package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"hermes-batch/testdata/figures"
)

// Where published figures lie, from the top of the tree.
const (
	figuresDir = "testdata/figures"
	overview   = "README.md"
	whole      = "BENCHMARKS.md"
)

// publish draws the pictures and fills the tables of the documents with what
// the JSON files say. It measures nothing.
func publish(top string) error {
	dir := filepath.Join(top, figuresDir)
	all, err := figures.LoadAll(dir)
	if err != nil {
		return err
	}
	if err := draw(all, dir); err != nil {
		return err
	}
	if _, err := all.FillFile(filepath.Join(top, overview)); err != nil {
		return err
	}
	told, err := all.FillFile(filepath.Join(top, whole))
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(all)) {
		for _, f := range all[file].Figures {
			if name := file + ":" + f.Scenario; !told[name] {
				return fmt.Errorf("%s has no place for %s", whole, name)
			}
		}
	}
	return nil
}
