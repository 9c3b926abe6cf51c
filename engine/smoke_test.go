package engine

import (
	"context"
	"flag"
	"testing"
)

func newFlagSet() *flag.FlagSet { return flag.NewFlagSet("run", flag.ContinueOnError) }

func TestSmoke(t *testing.T) {
	b := newBench(t, func(a ask) (int, string) {
		switch a.Turn {
		case 0:
			return calls("calculator", `{"expression":"17*23"}`, "terminal", `{"command":"echo hi > f; export A=1; mkdir -p d; cd d"}`)
		case 1:
			return calls("terminal", `{"command":"pwd; echo $A; cat ../f"}`, "read_file", `{"path":"../f"}`, "write_file", `{"path":"x","content":"y"}`)
		}
		return says("done")
	})
	b.dataset(`{"prompt":"a"}`, `{"prompt":"b","k":1}`, `bad`, `{"prompt":"a"}`)
	if err := b.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Log(b.ends())
	for _, l := range b.talk(0) {
		t.Log(l)
	}
	before := b.model.count()
	if err := b.run(context.Background(), resume); err != nil {
		t.Fatal(err)
	}
	if b.model.count() != before {
		t.Fatal("resume of a complete run sent requests")
	}
}
