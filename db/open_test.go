package db

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

func TestCreateIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db")
	writeFile(t, path+tmpSuffix, []byte("what a crash left of an earlier try")) // is in nobody's way
	var wg sync.WaitGroup
	made := make(chan *Store, 8)
	for range 8 {
		wg.Go(func() {
			s, err := Create(path, Run{Name: "one"}, Options{LockTimeout: 10 * time.Second})
			switch {
			case err == nil:
				made <- s
			case !errors.Is(err, ErrExists):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(made) != 1 {
		t.Fatalf("%d stores were made", len(made))
	}
	s := <-made
	defer closeSound(t, s)
	register(t, s, 1)
	if _, err := Create(path, Run{}, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("second create: %v", err)
	}
	if _, err := s.Prompt(0); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(path + ".*")
	if err != nil || len(left) != 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
}

func TestCreateInNoFolder(t *testing.T) {
	_, err := Create(filepath.Join(t.TempDir(), "none", "run.db"), Run{}, Options{})
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestMakeFolder(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	for range 2 { // it may be there
		if err := MakeFolder(deep); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Create(filepath.Join(deep, "run.db"), Run{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	file := filepath.Join(deep, "run.db")
	for _, path := range []string{file, filepath.Join(file, "d")} {
		if err := MakeFolder(path); err == nil {
			t.Errorf("%s is a folder now", path)
		}
	}
}

func TestMakeFolderRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := MakeFolder("a/b"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat("a/b"); err != nil || !info.IsDir() {
		t.Error(err)
	}
}

func TestOpenNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db")
	for _, opts := range []Options{{}, {ReadOnly: true}} {
		if _, err := Open(path, opts); !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 0 {
		t.Errorf("open made %q", left)
	}
}

// TestForeignFilesStay opens files of other kinds and expects them as they were.
func TestForeignFilesStay(t *testing.T) {
	dir := t.TempDir()
	foreign := func(opts bolt.Options, fill func(tx *bolt.Tx) error) []byte {
		path := filepath.Join(dir, "foreign.db")
		db, err := bolt.Open(path, 0o600, &opts)
		if err == nil {
			err = errors.Join(db.Update(fill), db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		return readFile(t, path)
	}
	meta := func(format, version string) func(tx *bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			b, err := tx.CreateBucket([]byte("meta"))
			if err != nil {
				return err
			}
			return errors.Join(b.Put(keyFormat, []byte(format)), b.Put(keyVersion, []byte(version)))
		}
	}
	nothing := func(*bolt.Tx) error { return nil }
	unsynced := bolt.Options{NoFreelistSync: true}
	for name, test := range map[string]struct {
		data []byte
		want error
	}{
		"empty":              {nil, ErrNotStore},
		"text":               {[]byte("{\"prompt\": \"hi\"}\n"), ErrNotStore},
		"long text":          {bytes.Repeat([]byte("hello "), 10000), ErrNotStore},
		"sqlite":             {append([]byte("SQLite format 3\x00"), make([]byte, 8176)...), ErrNotStore},
		"zeros":              {make([]byte, 1<<16), ErrNotStore},
		"other bbolt":        {foreign(bolt.Options{}, nothing), ErrNotStore},
		"other bbolt, open":  {foreign(unsynced, nothing), ErrNotStore},
		"other bbolt's meta": {foreign(bolt.Options{}, meta("something", "1")), ErrNotStore},
		"newer":              {foreign(bolt.Options{}, meta(formatName, "2")), ErrNewer},
		"newer, open":        {foreign(unsynced, meta(formatName, "999")), ErrNewer},
		"bad version":        {foreign(bolt.Options{}, meta(formatName, "x")), ErrDamaged},
		"version zero":       {foreign(bolt.Options{}, meta(formatName, "0")), ErrDamaged},
		"lacks buckets":      {foreign(bolt.Options{}, meta(formatName, "1")), ErrDamaged},
	} {
		path := filepath.Join(dir, "run.db")
		writeFile(t, path, test.data)
		for _, opts := range []Options{{}, {ReadOnly: true}} {
			if _, err := Open(path, opts); !errors.Is(err, test.want) {
				t.Errorf("%s: %v", name, err)
			} else if test.want == ErrNewer && !strings.Contains(err.Error(), "version") {
				t.Errorf("%s: %v names no version", name, err)
			}
		}
		if !bytes.Equal(readFile(t, path), test.data) {
			t.Errorf("%s was changed", name)
		}
		if _, err := ReadLock(path); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: there is a lock file: %v", name, err)
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(pipe, Options{ReadOnly: true}); !errors.Is(err, ErrNotStore) {
		t.Errorf("a named pipe: %v", err)
	}
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrNotStore) {
		t.Errorf("folder: %v", err)
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "hold", s.Path(), nil)
	if got := c.line(t); got != "open" {
		t.Fatal(got)
	}
	pid := c.cmd.Process.Pid
	host, _ := os.Hostname()
	holds := func(what string, e LockedError) {
		t.Helper()
		if e.PID != pid || e.Host != host || e.Since.Before(began.Add(-time.Minute)) || e.Socket != "/run/x.sock" {
			t.Errorf("%s: %+v", what, e)
		}
	}
	for _, opts := range []Options{{}, {ReadOnly: true, LockTimeout: 50 * time.Millisecond}} {
		asked := time.Now()
		_, err := Open(s.Path(), opts)
		var locked *LockedError
		if !errors.Is(err, ErrLocked) || !errors.As(err, &locked) {
			t.Fatalf("%+v: %v", opts, err)
		}
		if took := time.Since(asked); took > 2*time.Second {
			t.Errorf("it took %v to refuse", took)
		}
		holds("error", *locked)
		if text := err.Error(); !strings.Contains(text, s.Path()) || !strings.Contains(text, host) {
			t.Errorf("error %q", text)
		}
	}
	e, err := ReadLock(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	holds("lock file", e)

	if err := c.cmd.Process.Kill(); err != nil { // the file stays, the lock does not
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	if _, err := ReadLock(s.Path()); err != nil {
		t.Errorf("after a kill: %v", err)
	}
	r := openStore(t, s.Path(), Options{ReadOnly: true})
	_, err = Open(s.Path(), Options{LockTimeout: time.Millisecond}) // a reader holds it, not the dead
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != 0 {
		t.Errorf("beside a reader: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	w := openStore(t, s.Path(), Options{})
	if e, err := ReadLock(s.Path()); err != nil || e.PID != os.Getpid() || e.Socket != "" {
		t.Errorf("own lock file: %+v, %v", e, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLock(s.Path()); !errors.Is(err, ErrNotFound) {
		t.Errorf("after a close: %v", err)
	}
}

func TestLockIsAwaited(t *testing.T) {
	s := newStore(t)
	got := make(chan error, 1)
	go func() {
		second, err := Open(s.Path(), Options{LockTimeout: 10 * time.Second})
		if err == nil {
			err = second.Close()
		}
		got <- err
	}()
	time.Sleep(50 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestBadLockFileIsNotBelieved(t *testing.T) {
	s := newStore(t)
	writeFile(t, lockPath(s.Path()), []byte("{"))
	if _, err := ReadLock(s.Path()); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("lock file: %v", err)
	}
	var locked *LockedError
	if _, err := Open(s.Path(), Options{LockTimeout: time.Millisecond}); !errors.As(err, &locked) || locked.PID != 0 {
		t.Errorf("open: %v", err)
	}
	if data, err := json.Marshal(LockedError{PID: 1}); err != nil || strings.Contains(string(data), "Path") {
		t.Errorf("%s, %v", data, err)
	}
}

// TestTornCommit spoils the newest meta page, as a power cut may: the commit
// before it holds, and the log says so.
func TestTornCommit(t *testing.T) {
	s := newStore(t)
	register(t, s, 1)
	l := openLog(t, s, 0)
	mustWait(t, l.Append(start()))
	mustWait(t, l.Append(gpt("torn")))
	data := readFile(t, s.Path())
	metas, errs := readMetas(bytes.NewReader(data))
	if errs[0] != nil || errs[1] != nil {
		t.Fatal(errs)
	}
	newest := int64(0)
	if metas[1].txid > metas[0].txid {
		newest = 1
	}
	data[newest*metas[0].pageSize+metaOffset+50] ^= 1
	path := filepath.Join(t.TempDir(), "run.db")
	writeFile(t, path, data)
	var log bytes.Buffer
	r, err := Open(path, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer closeSound(t, r)
	if thread, err := r.Thread(0); err != nil || len(thread) != 1 {
		t.Errorf("%d steps, %v", len(thread), err)
	}
	if !strings.Contains(log.String(), "torn") {
		t.Errorf("log %q", log.String())
	}
	mustWait(t, openLog(t, r, 0).Append(gpt("again")))
	if r := mustBeSound(t, r); r.Steps != 2 {
		t.Errorf("%d steps", r.Steps)
	}
}

func TestCheckHeedsItsContext(t *testing.T) {
	s := newStore(t)
	register(t, s, 10)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Check(ctx, true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
