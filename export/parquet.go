package export

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"

	"hermes-batch/db"
)

const (
	// groupSize is when a row group ends, in bytes of values. A group is held
	// in memory, compressed, until it ends, and is what readers load at once.
	groupSize = 64 << 20

	// largestRow is what a row may hold, in bytes of values. Offsets in pages
	// have 31 bits, and a row cannot be divided between pages.
	largestRow = 1 << 30
)

// recordSchema is the schema of trajectories.parquet.
var recordSchema = parquet.SchemaOf(record{})

// writerOptions make the bytes of a file depend on its rows alone.
func writerOptions() []parquet.WriterOption {
	options := []parquet.WriterOption{
		recordSchema,
		parquet.Compression(&codec{}),
		parquet.CreatedBy("hermes-batch", "1.0.0", "none"),
		parquet.KeyValueMetadata("hermes_batch.schema", "1"),
	}
	for _, path := range unbounded {
		options = append(options, parquet.SkipPageBounds(path...), parquet.SkipPageStatistics(path...))
	}
	return options
}

// parquetFile is trajectories.parquet on its way, which a goroutine of its own
// writes. Its first error is told at the end, so that the other files of the
// same pass are rendered whatever becomes of it. It ends with abort, before
// which it may be finished.
type parquetFile struct {
	*file
	encoder *encoder
	rows    chan *row
	ended   bool          // rows is closed
	done    chan struct{} // closed when the goroutine has ended

	// Of the goroutine, until it has ended.
	writer *parquet.GenericWriter[record]
	footer *footer
	values [1]parquet.Row
	proof  prover
	group  int // bytes in the open row group, which ends at limit
	limit  int
	err    error
}

func (r *Renderer) beginParquet() *parquetFile {
	f := r.begin(r.path("trajectories.parquet"))
	end := &footer{out: f}
	p := &parquetFile{
		file: f, encoder: newEncoder(r.tools), rows: make(chan *row, 1), done: make(chan struct{}),
		footer: end, writer: parquet.NewGenericWriter[record](end, writerOptions()...), limit: groupSize,
	}
	go p.run()
	return p
}

// run writes rows until there are no more, or one cannot be written.
func (p *parquetFile) run() {
	defer close(p.done)
	for row := range p.rows {
		runtime.Gosched() // to sessions that became ready
		if p.err = shield(func() error { return p.write(row) }); p.err != nil {
			return
		}
	}
}

// add takes a row, which must not change any more, or returns the error of an
// earlier one.
func (p *parquetFile) add(row *row) error {
	select {
	case p.rows <- row:
		return nil
	case <-p.done:
		return p.err
	}
}

// failed tells the error of an earlier row.
func (p *parquetFile) failed() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// wait ends the goroutine and tells the first error.
func (p *parquetFile) wait() error {
	if !p.ended {
		close(p.rows)
		p.ended = true
	}
	<-p.done
	return p.err
}

func (p *parquetFile) abort() {
	p.wait()
	p.file.abort()
}

func (p *parquetFile) write(row *row) error {
	rec, err := recordOf(p.encoder, row)
	if err != nil {
		return err
	}
	p.values[0] = recordSchema.Deconstruct(p.values[0][:0], rec)
	size := p.proof.add(p.values[0])
	if size > largestRow {
		return fmt.Errorf("%w %s: the row of prompt %d has %d bytes, more than Parquet can hold", ErrWrite, p.path, rec.PromptIndex, size)
	}
	if _, err := p.writer.WriteRows(p.values[:]); err != nil {
		return err
	}
	p.file.rows++
	if p.group += size; p.group < p.limit {
		return nil
	}
	p.group = 0
	return p.writer.Flush()
}

// finishParquet completes the file. The number of pending prompts marks that of
// an unfinished run.
func (r *Renderer) finishParquet(rep *Report, p *parquetFile, pending int) error {
	err := p.wait()
	if err == nil {
		err = shield(func() error { return p.close(pending) })
	}
	if err != nil {
		return err
	}
	what := p.proof.proof()
	return r.finish(rep, p.file, &what)
}

func (p *parquetFile) close(pending int) error {
	p.writer.SetKeyValueMetadata("hermes_batch.pending", strconv.Itoa(pending))
	if err := p.writer.Flush(); err != nil {
		return err
	}
	p.footer.hold()
	if err := p.writer.Close(); err != nil {
		return err
	}
	return p.footer.close(p.writer.File())
}

// shield turns a panic of the Parquet library into an error.
func shield(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parquet: %v", p)
		}
	}()
	return fn()
}

var errLate = errors.New("no time left")

// parquetUntil renders trajectories.parquet alone. It gives up at the deadline,
// and does not begin if there was no time for the merged file.
func (r *Renderer) parquetUntil(ctx context.Context, rep *Report, pending int, deadline time.Time) error {
	p := r.beginParquet()
	defer p.abort()
	err := errLate
	if len(rep.In(LeftOut)) == 0 {
		err = r.parquetRows(ctx, p, func(db.Ordinal, *db.Outcome, Verdict) error {
			if time.Now().After(deadline) {
				return errLate
			}
			return nil
		})
	}
	if errors.Is(err, errLate) {
		rep.Files = append(rep.Files, File{Path: p.path, State: LeftOut})
		return nil
	}
	if err != nil {
		return err
	}
	return r.finishParquet(rep, p, pending)
}

// parquetRows goes through the whole store for the rows of one file.
func (r *Renderer) parquetRows(ctx context.Context, p *parquetFile, tell seen) error {
	return r.walk(ctx, span{}, func(o db.Ordinal, out *db.Outcome, v Verdict) error {
		if err := tell(o, out, v); err != nil || v != Kept {
			return err
		}
		row, err := loadRow(r.store, o, *out)
		if err != nil {
			return err
		}
		return p.add(&row)
	})
}
