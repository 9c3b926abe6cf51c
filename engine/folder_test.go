package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/db"
)

// tree is everything in the working folder: names, times and content.
func tree(t *testing.T) (text string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		raw := []byte{}
		if info.Mode().IsRegular() {
			if raw, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		text += fmt.Sprintf("%s %s %s %x\n", path, info.Mode(), info.ModTime(), sha256.Sum256(raw))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRunNames(t *testing.T) {
	for name, good := range map[string]bool{
		"r": true, "my_first_run": true, "0.1-a_B": true, "a..b": true, strings.Repeat("x", 100): true,
		"": false, "../../evil": false, "a/b": false, "a\\b": false, ".hidden": false, "-r": false, "_r": false, "a b": false, "é": false,
		"a\n": false, "a\x00": false, "..": false, strings.Repeat("x", 101): false,
	} {
		folder, err := (&Options{RunName: name}).Folder()
		if good && (err != nil || folder.Dir != filepath.Join("data", name)) || !good && !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %+v, %v", name, folder, err)
		}
	}
}

// A run that exists is not touched by another start.
func TestExistingRunIsRefused(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a")
	b.mustRun()
	before := tree(t)
	err := b.run(t.Context())
	if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "--resume") || !strings.Contains(err.Error(), "--overwrite") {
		t.Errorf("error %v", err)
	}
	if after := tree(t); after != before {
		t.Errorf("the folder was\n%s\nand is\n%s", before, after)
	}
	b.model.wantCount(1)
}

// Output of another program is not touched, with or without --resume.
func TestForeignOutputIsRefused(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a")
	os.MkdirAll("data/r", 0o777)
	writeFile(t, "data/r/batch_0.jsonl", `{"prompt_index": 0}`+"\n")
	before := tree(t)
	for _, change := range []func(*Options){resume, oneWorker} {
		if err := b.run(t.Context(), change); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "no store") {
			t.Errorf("error %v", err)
		}
	}
	if after := tree(t); after != before {
		t.Errorf("the folder was\n%s\nand is\n%s", before, after)
	}
	overwrite := func(o *Options) { o.Overwrite = true }
	b.mustRun(overwrite)
	b.mustRun(overwrite)
	moved, _ := filepath.Glob("data/r.old-*")
	kept, _ := filepath.Glob("data/r.old-*/batch_0.jsonl")
	if len(moved) != 2 || len(kept) != 1 {
		t.Errorf("moved aside: %q, with the foreign file: %q", moved, kept)
	}
	b.model.wantCount(2)
}

// --overwrite moves nothing aside before it is sure that a new run can begin,
// nor while somebody else works there.
func TestOverwriteInVain(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a")
	b.mustRun()
	overwrite := func(o *Options) { o.Overwrite = true }
	b.dataset("{}")
	before := tree(t)
	if err := b.run(t.Context(), overwrite); !errors.Is(err, ErrUsage) {
		t.Errorf("error %v", err)
	}
	if after := tree(t); after != before {
		t.Errorf("the folder was\n%s\nand is\n%s", before, after)
	}
	b.prompts("a")
	r, err := b.start(t.Context(), resume)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(nil)
	var locked *db.LockedError
	if err := b.run(t.Context(), overwrite); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("error %v", err)
	}
	if moved, _ := filepath.Glob("data/r.old-*"); len(moved) > 0 {
		t.Errorf("moved aside: %q", moved)
	}
}

func TestShortForm(t *testing.T) {
	b := newBench(t, echoes)
	b.prompts("a", "b")
	short := func(o *Options) {
		o.Input, o.Output, o.DatasetFile, o.RunName, o.BatchSize = "data.jsonl", "out.jsonl", "", "", 0
	}
	b.mustRun(short)
	b.mustRun(short) // the same line again resumes
	b.model.wantCount(2)
	if !there("out.jsonl.run/run.db") {
		t.Error("no store beside the output")
	}
	writeFile(t, "other.jsonl", "precious\n")
	other := func(o *Options) { short(o); o.Output = "other.jsonl" }
	if err := b.run(context.Background(), other); !errors.Is(err, ErrUsage) {
		t.Errorf("an output without its store: %v", err)
	}
	for name, change := range map[string]func(*Options){
		"no output":       func(o *Options) { o.Output = "" },
		"no input":        func(o *Options) { o.Input = "" },
		"both forms":      func(o *Options) { o.RunName = "r" },
		"over its input":  func(o *Options) { o.Output = "./data.jsonl" },
		"over a folder":   func(o *Options) { o.Output = "out.jsonl.run" },
		"over a device":   func(o *Options) { o.Output = "/dev/null" },
		"input not there": func(o *Options) { o.Input, o.Output = "nowhere.jsonl", "new.jsonl" },
	} {
		if err := b.run(t.Context(), short, change); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if raw, err := os.ReadFile("other.jsonl"); err != nil || string(raw) != "precious\n" || there("new.jsonl.run") {
		t.Errorf("other.jsonl holds %q, %v", raw, err)
	}
	b.model.wantCount(2)
}
