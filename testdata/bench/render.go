package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"hermes-batch/testdata/figures"
)

// render measures the rendering of all output files of a complete run with
// turns of 4 KB, and the size of its store.
func (b *bench) render(ctx context.Context) error {
	h := history{finished: b.size.rendered, prompt: sum, retold: true}
	folders, remove, err := b.histories(ctx, h)
	if err != nil {
		return err
	}
	defer remove()
	return b.rounds(b.size.samples, func(p program) error {
		dir := folders[p]
		if err := dropOutputs(dir); err != nil {
			return err
		}
		u, err := p.run(ctx, dir, arguments(unused, 4, "--resume")...)
		if err != nil {
			return err
		}
		store, merged, lines, err := sizesOf(dir)
		if err != nil {
			return err
		}
		b.add(p, "StoreSize", "store ÷ JSONL that it renders, turns of 4 KB", "store/jsonl", figures.AtMost(0.6), float64(store)/float64(merged))
		b.add(p, "RenderAll", "all output files rendered anew at a resume, bytes of JSONL by the clock", "MB/s", figures.More(), megabytes(lines)/u.wall.Seconds())
		return b.export(ctx, p, dir, lines, merged)
	})
}

// export measures JSONL and Parquet one by one. A program to compare with need
// not have that verb.
func (b *bench) export(ctx context.Context, p program, dir string, lines, merged int64) error {
	for _, format := range []struct {
		name   string
		bytes  int64
		metric figures.Metric
	}{
		{"hermes", lines, figures.Metric{Name: "RenderJSONL", What: "  JSONL rendered a core, batch files and merged", Unit: "MB/cpu-s", Target: figures.AtLeast(100)}},
		{"parquet", merged, figures.Metric{Name: "RenderParquet", What: "  Parquet rendered a core, in bytes of the merged JSONL", Unit: "MB/cpu-s", Target: figures.More()}},
	} {
		out := filepath.Join(dir, "export")
		u, err := p.run(ctx, dir, "export", "--store="+storeFile, "--out="+out, "--format="+format.name)
		if err != nil && p == b.programs[0] {
			return err
		}
		if err == nil {
			b.results.Add(p.label, format.metric, megabytes(format.bytes)/u.processor.Seconds())
		}
		if err := os.RemoveAll(out); err != nil {
			return err
		}
	}
	return nil
}

// unused is the address of a model that no run asks.
const unused = "http://127.0.0.1:9/v1"

// histories makes the same run in a folder for each program.
func (b *bench) histories(ctx context.Context, h history) (folders map[program]string, remove func(), err error) {
	folders = map[program]string{}
	remove = func() {
		for _, dir := range folders {
			os.RemoveAll(dir)
		}
	}
	for _, p := range b.programs {
		dir, _, err := b.folder()
		if err == nil {
			folders[p] = dir
			err = h.make(ctx, p, dir)
		}
		if err != nil {
			remove()
			return nil, nil, err
		}
	}
	return folders, remove, nil
}

// sizesOf tells the bytes of the store on the disk, of the merged file, and of
// all JSONL files.
func sizesOf(dir string) (store, merged, lines int64, err error) {
	if store, err = onDisk(filepath.Join(dir, storeFile)); err != nil {
		return 0, 0, 0, err
	}
	files, err := filepath.Glob(filepath.Join(dir, outputs, "*.jsonl"))
	if err != nil {
		return 0, 0, 0, err
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return 0, 0, 0, err
		}
		lines += info.Size()
		if filepath.Base(f) == "trajectories.jsonl" {
			merged = info.Size()
		}
	}
	return store, merged, lines, nil
}

// onDisk is what a file takes of the disk. The store's file is longer than
// that: it grows by steps, as a hole.
func onDisk(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(info.Size(), st.Blocks*512), nil
	}
	return info.Size(), nil
}
