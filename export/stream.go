package export

import (
	"bufio"
	"context"
	"encoding/gob"
	"flag"
	"fmt"
	"io"
	"slices"
	"sync"

	"hermes-batch/db"
)

// Formats of an export; without one it has all files.
const (
	formatHermes  = "hermes"  // the JSONL and JSON files
	formatParquet = "parquet" // trajectories.parquet
)

// message is a part of an export on its way from the process that has the
// store to the one that writes the files.
type message struct {
	Run    string // the first one: the run's ID
	File   int    // number of the file that Name, Data or End are of
	Name   string // the file begins
	Data   []byte // the file goes on
	End    bool   // the file is whole
	Proof  *proof // what it reads back as, if it is Parquet
	Report *Report
}

// chunk bounds the Data of a message, in bytes.
const chunk = 1 << 20

// Stream renders a run's files from its store, which may be unfinished or in
// use, and writes them to w in a form that Copy.Write reads. The arguments are
// those of a Copy. The filters are those of the run's last session, but for
// what the arguments say.
func Stream(ctx context.Context, store *db.Store, args []string, w io.Writer) error {
	format, filters, err := parseArgs(store, args)
	if err != nil {
		return err
	}
	to := &stream{to: gob.NewEncoder(w)}
	r := NewRenderer(store, Options{Filters: filters})
	r.place = to
	if err := to.send(message{Run: store.Run().ID}); err != nil {
		return err
	}
	rep := &Report{}
	if err := r.copy(ctx, rep, format); err != nil {
		return err
	}
	rep.LongRows = len(r.long)
	return to.send(message{Report: rep})
}

func parseArgs(store *db.Store, args []string) (format string, f Filters, err error) {
	launches, err := store.Launches()
	if err != nil {
		return "", f, err
	}
	if len(launches) > 0 {
		f = filtersOf(launches[len(launches)-1])
	}
	fs := flag.NewFlagSet("export", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f.Register(fs)
	fs.Func(flagFormat, "", func(s string) error { format = s; return checkFormat(s) })
	err = fs.Parse(args)
	return format, f, err
}

func checkFormat(format string) error {
	if known := []string{formatHermes, formatParquet}; !slices.Contains(known, format) {
		return fmt.Errorf("%q is no format of an export: hermes or parquet", format)
	}
	return nil
}

// copy renders everything once, from one pass: what files and statistics say
// of a run in progress is of one moment.
func (r *Renderer) copy(ctx context.Context, rep *Report, format string) error {
	r.retool()
	if _, err := r.ledger.reload(); err != nil {
		return err
	}
	stats := newCollector(r)
	tell := func(o db.Ordinal, out *db.Outcome, v Verdict) error {
		if batch := r.store.BatchOf(o.Index()); batch >= 0 && batch < len(r.ledger.batches) {
			r.ledger.add(batch, db.HeadOf(o, out))
		}
		return stats.add(o, out, v)
	}
	var parquet *parquetFile
	if format != formatHermes {
		parquet = r.beginParquet()
		defer parquet.abort()
	}
	lines := func() error {
		return steps(
			func() error { return r.pass(ctx, rep, tell, parquet) },
			func() error { return r.tables(ctx, rep) },
			func() error { return r.statistics(rep, stats) },
		)
	}
	if format == formatParquet {
		lines = func() error {
			return steps(
				func() error { return r.parquetRows(ctx, parquet, tell) },
				func() error { return stats.report(rep) },
			)
		}
	}
	if err := lines(); err != nil || parquet == nil {
		return err
	}
	return r.finishParquet(rep, parquet, stats.pending)
}

// stream is the place of files that go to another process.
type stream struct {
	files int

	mu sync.Mutex
	to *gob.Encoder
}

func (s *stream) send(m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Encode(m)
}

func (s *stream) begin(path string) output {
	s.files++
	f := &sent{stream: s, file: s.files, out: writers.Get().(*bufio.Writer)}
	f.out.Reset(sender{f})
	f.err = s.send(message{File: f.file, Name: path})
	return f
}

// remove does nothing: the other process knows what it did not get.
func (s *stream) remove(string) (bool, error) { return false, nil }

func (s *stream) sync() error { return nil }

// sent is a file that goes to another process.
type sent struct {
	stream *stream
	file   int
	out    *bufio.Writer // over sender; nil at the end
	err    error         // of the beginning
}

func (f *sent) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.out.Write(p)
}

func (f *sent) untouched() error { return nil } // the other process looks

func (f *sent) commit(what *proof) (changed bool, err error) {
	defer f.abort()
	if f.err != nil {
		return false, f.err
	}
	if err := f.out.Flush(); err != nil {
		return false, err
	}
	return true, f.stream.send(message{File: f.file, End: true, Proof: what})
}

// abort gives memory back. The other process drops what does not end.
func (f *sent) abort() {
	if f.out != nil {
		f.out.Reset(nil)
		writers.Put(f.out)
		f.out = nil
	}
}

// sender makes messages of what is written.
type sender struct{ *sent }

func (s sender) Write(p []byte) (int, error) {
	for part := range slices.Chunk(p, chunk) {
		if err := s.stream.send(message{File: s.file, Data: part}); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// steps does one thing after the other until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
