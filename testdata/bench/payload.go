package main

import (
	"context"
	"fmt"

	"hermes-batch/db"
	"hermes-batch/testdata/figures"
)

// payload is something large that goes through a run.
type payload struct {
	name, what string
	trial      func(size int) trial // but for the number of prompts
}

var payloads = []payload{
	{"PromptSize", "prompts", func(size int) trial {
		text := newAuthor(5).text(size)
		return trial{turns: 1, prompt: func(i int) string { return question(i) + " " + text }}
	}},
	{"ReplySize", "replies", func(size int) trial {
		reply := newAuthor(6).retell(db.Turn{Finish: "stop"}, size, "reply")
		return trial{turns: 1, prompt: question, replies: []*db.Turn{reply}}
	}},
	{"ResultSize", "output of a command", func(size int) trial {
		return trial{turns: 2, prompt: func(i int) string { return fmt.Sprintf("Run `yes number %d | head -c %d`.", i, size) }}
	}},
}

// fewestPayloads and mostPayloads bound the prompts of a run.
const (
	fewestPayloads = 2
	mostPayloads   = 200
)

// large tells what prompts, replies and the output of commands of more and
// more bytes take, one prompt after the other.
func (b *bench) large(ctx context.Context) error {
	for _, kind := range payloads {
		for _, size := range b.size.payload {
			t := kind.trial(size)
			t.workers, t.prompts = 1, min(max(b.size.carried/size, fewestPayloads), mostPayloads)
			if err := b.carry(ctx, kind, size, t); err != nil {
				return fmt.Errorf("%s of %d bytes: %w", kind.what, size, err)
			}
		}
	}
	return nil
}

func (b *bench) carry(ctx context.Context, kind payload, size int, t trial) error {
	at, key := fmt.Sprintf(", %s of %s", kind.what, sizeName(size)), fmt.Sprintf("/KB=%d", size>>10)
	return b.rounds(b.size.samples, func(p program) error {
		o, err := b.try(ctx, p, t)
		if err != nil {
			return err
		}
		mb := megabytes(int64(size) * int64(t.prompts))
		b.add(p, kind.name+key, "processor per prompt"+at, "cpu-ms/prompt", figures.Less(), o.perPrompt(t.prompts))
		b.add(p, kind.name+"MB"+key, "  that per MB", "cpu-ms/MB", figures.Less(), milliseconds(o.processor)/mb)
		b.add(p, kind.name+"Memory"+key, "  peak anonymous memory", "MB", figures.Less(), megabytes(o.memory))
		b.add(p, kind.name+"Store"+key, "  store per MB", "MB/MB", figures.Less(), megabytes(o.store)/mb)
		return nil
	})
}

// sizeName is as in "64 KB".
func sizeName(size int) string {
	if size < 1<<20 {
		return fmt.Sprintf("%d KB", size>>10)
	}
	return fmt.Sprintf("%d MB", size>>20)
}
