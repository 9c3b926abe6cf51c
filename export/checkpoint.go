package export

import (
	"io"
	"strconv"
	"time"
)

// checkpoint renders checkpoint.json: the reference program's keys, then the
// totals. It is written as it is computed; its list has a number for each
// finished prompt.
func (r *Renderer) checkpoint(rep *Report) error {
	f := r.begin(r.path("checkpoint.json"))
	defer f.abort()
	w := chunked{f: f}
	w.buf = appendText(w.buf, "{\n  \"run_name\": ", r.store.Run().Name)
	w.buf = append(w.buf, ",\n  \"completed_prompts\": ["...)
	r.completed(&w)
	w.buf = append(w.buf, "],\n  \"batch_stats\": {"...)
	r.batchStats(&w)
	w.buf = append(w.buf, "},\n  \"last_updated\": \""...)
	w.buf = appendTime(w.buf, time.Unix(0, r.ledger.latest()))
	w.buf = appendTotals(w.buf, rep.Counts)
	w.buf = append(w.buf, "\n}\n"...)
	w.flush()
	if w.err != nil {
		return w.err
	}
	return r.finish(rep, f, nil)
}

// completed lists the prompts of which every rollout that ran is finished.
func (r *Renderer) completed(w *chunked) {
	before := ""
	for index := range r.ledger.whole.All() {
		w.buf = appendInt(w.buf, before, index)
		before = ","
		w.spill()
	}
}

// batchStats lists the batches that have outcomes. Nothing is ever skipped:
// the figures describe the run over all its launches.
func (r *Renderer) batchStats(w *chunked) {
	before, after := "\n    \"", ""
	for b := range r.ledger.batches {
		t := &r.ledger.batches[b]
		processed := t.finished() + t.failed
		if processed == 0 {
			continue
		}
		w.buf = append(w.buf, before...)
		w.buf = strconv.AppendInt(w.buf, int64(b), 10)
		w.buf = appendInt(w.buf, "\": {\"processed\": ", int(processed))
		w.buf = appendInt(w.buf, ", \"skipped\": 0, \"discarded_no_reasoning\": ", int(t.discarded))
		w.buf = append(w.buf, '}')
		before, after = ",\n    \"", "\n  "
		w.spill()
	}
	w.buf = append(w.buf, after...)
}

func appendTotals(dst []byte, c Counts) []byte {
	dst = appendInt(dst, "\",\n  \"total\": ", c.Total)
	dst = appendInt(dst, ",\n  \"kept\": ", c.Kept)
	dst = appendInt(dst, ",\n  \"filtered\": ", c.Filtered)
	dst = appendInt(dst, ",\n  \"discarded\": ", c.Discarded)
	dst = appendInt(dst, ",\n  \"failed\": ", c.Failed)
	return appendInt(dst, ",\n  \"pending\": ", c.Pending)
}

// chunked gathers small pieces into larger writes; the first error stays.
type chunked struct {
	f   io.Writer
	buf []byte
	err error
}

// spill writes what has gathered if that is worth it.
func (w *chunked) spill() {
	if len(w.buf) >= bufferSize/2 {
		w.flush()
	}
}

func (w *chunked) flush() {
	if w.err == nil {
		_, w.err = w.f.Write(w.buf)
	}
	w.buf = w.buf[:0]
}
