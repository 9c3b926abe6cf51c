package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"hermes-batch/testdata/figures"
)

// step is how much time one sample of a published course stands for.
const step = 10 * time.Second

// quantities are what is sampled, and how it is published.
var quantities = []struct {
	name, what, unit string
	target           figures.Target // of the end against the beginning
	of               func(sample) float64
}{
	{"Memory", "anonymous memory", "MB", figures.AtMost(1.1), func(s sample) float64 { return float64(s.anonymous) / 1e6 }},
	{"Descriptors", "open descriptors", "descriptors", figures.AtMost(1.1), func(s sample) float64 { return float64(s.descriptors) }},
	{"Threads", "threads", "threads", figures.Less(), func(s sample) float64 { return float64(s.threads) }},
	{"Children", "child processes", "processes", figures.Less(), func(s sample) float64 { return float64(s.children) }},
}

// figures are what is published of the soak.
func (s *soak) figures(r *figures.Results, command string) {
	scenario, prefix := "soak", "Soak"
	if s.size.kill > 0 {
		scenario, prefix = "soak with kills", "SoakWithKills"
	}
	r.Begin(scenario, command)
	add := func(name, what, unit string, target figures.Target, values ...float64) {
		for _, v := range values {
			r.Add(figures.This, figures.Metric{Name: prefix + name, What: what, Unit: unit, Target: target}, v)
		}
	}
	quarter := s.size.time / 4
	for _, q := range quantities {
		early, late := s.median(q.of, quarter, 2*quarter), s.median(q.of, 3*quarter, 4*quarter)
		what := fmt.Sprintf("%s in the last %s ÷ that from %s to %s", q.what, clock(quarter), clock(quarter), clock(2*quarter))
		add(q.name+"Growth", what, "×", q.target, late/early)
		add(q.name, "  by the clock, a sample every 10 s", q.unit, figures.Less(), s.course(q.of)...)
	}
	add("Violations", "violations", "violations", figures.AtMost(0), float64(len(s.wrong)))
	add("Prompts", "prompts with an outcome", "prompts", figures.More(), float64(s.found.Total))
	add("Rate", "  in a second, a sample every 10 s", "prompts/s", figures.More(), s.rates()...)
	add("Failed", "  failed, all as they should", "prompts", figures.Less(), float64(s.found.Failed))
	add("Requests", "requests", "requests", figures.More(), float64(s.end.requests))
	add("Faults", "  faults among them", "%", figures.More(), 100*float64(s.faults())/float64(s.end.requests))
	add("Again", "  turns answered once more", "turns", figures.AtMost(float64((s.deaths+1)*s.size.workers)), float64(s.found.again))
	add("Kills", "kills", "kills", figures.More(), float64(s.deaths))
	add("Reads", "exports and statuses of the run as it went on", "reads", figures.More(), float64(s.reads.Load()))
	add("Store", "store", "KB/prompt", figures.Less(), s.storeSize()/1e3/float64(s.found.Total))
}

// clock is a duration as "5m", or in seconds if it is not of whole minutes.
func clock(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%gs", d.Seconds())
}

// median is that of a quantity between two moments.
func (s *soak) median(of func(sample) float64, from, to time.Duration) float64 {
	var list []float64
	for _, x := range s.samples {
		if x.at >= from && x.at < to {
			list = append(list, of(x))
		}
	}
	return figures.Median(list)
}

// course is a quantity by the clock, the median of each step.
func (s *soak) course(of func(sample) float64) (list []float64) {
	for at := time.Duration(0); at+step <= s.size.time; at += step {
		list = append(list, s.median(of, at, at+step))
	}
	return list
}

// rates are how many prompts came to an end in each step.
func (s *soak) rates() (list []float64) {
	before := 0
	for at := step; at <= s.size.time; at += step {
		done := before
		for _, x := range s.samples {
			if x.at < at {
				done = max(done, x.done)
			}
		}
		list = append(list, float64(done-before)/step.Seconds())
		before = done
	}
	return list
}

func (s *soak) storeSize() (bytes float64) {
	for _, x := range s.samples {
		bytes = max(bytes, float64(x.store))
	}
	return bytes
}

func (s *soak) faults() (n int) {
	for _, times := range s.end.met {
		n += times
	}
	return n
}

// print tells what happened, beside the figures.
func (s *soak) print(w io.Writer) {
	fmt.Fprintf(w, "\n%d prompts: %d kept, %d filtered, %d discarded, %d failed; %d ended otherwise for the faults that they met\n",
		s.found.Total, s.found.Kept, s.found.Filtered, s.found.Discarded, s.found.Failed, s.found.explained)
	list := func(title string, all map[string]int) {
		fmt.Fprintln(w, title)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(w, "  %6d  %s\n", all[name], name)
		}
	}
	list("ends", s.found.ends)
	list(fmt.Sprintf("faults in %d requests, beside %d times in which connections were refused", s.end.requests, s.end.outages), s.end.met)
}
