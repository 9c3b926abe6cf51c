package export

import (
	"context"

	"hermes-batch/db"
)

// failure is a line of errors.jsonl. Both kinds of lines have all keys, so that
// the file loads as one table; what does not apply is "", 0 or, for numbers
// that may be 0, -1.
type failure struct {
	kind    string // "line" or "prompt"
	line    int    // of the dataset, from 1
	index   int
	rollout int
	prompt  string
	outcome db.Outcome // of a prompt; of a line, only the reason
	hint    string
	extra   string // the row's other keys, as in its row
}

func (f *failure) append(dst []byte) []byte {
	dst = appendText(dst, `{"kind":`, f.kind)
	dst = appendInt(dst, `,"line":`, f.line)
	dst = appendInt(dst, `,"prompt_index":`, f.index)
	dst = appendInt(dst, `,"rollout_index":`, f.rollout)
	dst = appendText(dst, `,"prompt":`, f.prompt)
	dst = appendText(dst, `,"class":`, f.outcome.Class)
	dst = appendText(dst, `,"reason":`, f.outcome.Reason)
	dst = appendText(dst, `,"message":`, f.outcome.Message)
	dst = appendInt(dst, `,"attempts":`, f.outcome.Attempts)
	dst = appendInt(dst, `,"tries":`, f.outcome.Tries)
	dst = appendText(dst, `,"hint":`, f.hint)
	dst = appendText(dst, `,"extra":`, f.extra)
	return append(dst, "}\n"...)
}

// failures renders errors.jsonl: the dataset's bad lines, then the prompts of
// the plan that failed, each in order.
func (r *Renderer) failures(ctx context.Context, rep *Report) error {
	f := r.begin(r.path("errors.jsonl"))
	defer f.abort()
	var buf []byte
	put := func(x failure) error {
		buf = x.append(buf[:0])
		return f.add(buf)
	}
	err := r.store.BadLines(func(b db.BadLine) error {
		return put(failure{kind: "line", line: b.Line, index: -1, rollout: -1, outcome: db.Outcome{Reason: b.Reason}, hint: b.Hint, extra: "{}"})
	})
	for b := 0; err == nil && b < len(r.ledger.batches); b++ {
		if r.ledger.batches[b].failed > 0 {
			err = r.failedIn(ctx, b, put)
		}
	}
	if err != nil {
		return err
	}
	return r.finish(rep, f, nil)
}

// failedIn calls fn with the failed prompts of one batch.
func (r *Renderer) failedIn(ctx context.Context, batch int, fn func(failure) error) (err error) {
	from, to := r.ledger.span(batch)
	scan := r.store.OutcomeHeads(from, func(h db.OutcomeHead) bool {
		if err = ctx.Err(); err != nil || h.Ordinal >= to {
			return false
		}
		if h.End == db.EndFailed && r.ledger.plan.counts(h.Ordinal, Failed) {
			err = r.failed(h.Ordinal, fn)
		}
		return err == nil
	})
	if err == nil {
		err = scan
	}
	return err
}

func (r *Renderer) failed(o db.Ordinal, fn func(failure) error) error {
	out, ok, err := r.store.Outcome(o)
	if err != nil || !ok || out.End != db.EndFailed { // tried again meanwhile
		return err
	}
	p, err := r.store.Prompt(o.Index())
	if err != nil {
		return err
	}
	return fn(failure{kind: "prompt", index: o.Index(), rollout: o.Rollout(), prompt: p.Text, outcome: out, extra: string(p.Extra)})
}
