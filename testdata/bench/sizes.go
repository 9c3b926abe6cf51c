package main

import (
	"time"

	"hermes-batch/testdata/figures"
)

// sizes say how much is measured.
type sizes struct {
	samples  int
	loads    []load
	commands int // prompts with two commands each
	scale    scale
	prompts  []int         // of whole runs of one short turn
	turns    []int         // of conversations
	talk     int           // turns of all conversations of one length, or two conversations
	payload  []int         // bytes of prompts, replies and output
	carried  int           // bytes of all payloads of a run, unless that is too many or too few
	fresh    []int         // prompts of runs that just begin
	writers  []int         // that commit at once
	writing  time.Duration // how long they do
	rendered int           // prompts with turns of 4 KB
	finished []int         // prompts of complete runs
}

// million is only measured with -large.
const million = 1_000_000

func (o *options) sizes() sizes {
	s := brief
	if o.long {
		s = thorough
	}
	s.samples = max(1, o.count)
	if o.large {
		s.prompts, s.fresh, s.finished = append(s.prompts, million), append(s.fresh, million), append(s.finished, million)
	}
	return s
}

var brief = sizes{
	loads: []load{
		{workers: 64, prompts: 1024, latency: 50 * time.Millisecond, wall: figures.AtMost(1.10), processor: figures.AtMost(calculatorLimit)},
		{workers: 1000, prompts: 4000, latency: time.Second, wall: figures.AtMost(1.05), memory: figures.AtMost(400)},
	},
	commands: 256,
	scale:    scale{workers: []int{1, 16, 256}, latency: 250 * time.Millisecond, rounds: 2, atOnce: 512},
	prompts:  []int{1000, memoryBase},
	turns:    []int{2, shortTalk, longTalk}, talk: 400,
	payload: []int{1 << 10, 1 << 20, 10 << 20}, carried: 10 << 20,
	fresh:   []int{1024},
	writers: []int{1, 64, 256}, writing: time.Second,
	rendered: 5000, finished: []int{10_000},
}

// thorough is what is published.
var thorough = sizes{
	loads: []load{
		{workers: 64, prompts: 5120, latency: 50 * time.Millisecond, wall: figures.AtMost(1.08), processor: figures.AtMost(calculatorLimit)},
		{workers: 1000, prompts: 10_000, latency: time.Second, wall: figures.AtMost(1.05), memory: figures.AtMost(400)},
		{workers: 2000, prompts: 10_000, latency: time.Second, wall: figures.AtMost(1.10)},
	},
	commands: 256,
	scale:    scale{workers: []int{1, 4, 16, 64, 256, 1000, 2000}, latency: time.Second, rounds: 3, atOnce: 1024},
	prompts:  []int{1000, memoryBase, 100_000},
	turns:    []int{2, 6, shortTalk, 60, longTalk}, talk: 1200,
	payload: []int{1 << 10, 64 << 10, 1 << 20, 10 << 20, 50 << 20}, carried: 64 << 20,
	fresh:   []int{1024, 10_000, 100_000},
	writers: []int{1, 16, 64, 256, 1024}, writing: 3 * time.Second,
	rendered: 5000, finished: []int{1000, 10_000, 100_000},
}
