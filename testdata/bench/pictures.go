package main

import (
	"os"
	"path/filepath"
	"strings"

	"hermes-batch/testdata/figures"
)

// picture is a chart of figures.
type picture struct {
	from  string // file of the figures, without ".json"
	file  string
	title string
	x, y  figures.Axis
	lines []curve
	ideal func(figures.Report) []figures.Point // nil: none
}

// curve is a line of the figures with that prefix and a number. A prefix that
// does not end in "=" is the name of one figure, whose samples are the line.
type curve struct{ prefix, name string }

var (
	byWorkers  = figures.Axis{Label: "workers", Log: true}
	byPrompts  = figures.Axis{Label: "prompts of the run", Log: true}
	byWriters  = figures.Axis{Label: "sessions written at once", Log: true}
	byTurns    = figures.Axis{Label: "turns of a conversation", Log: true}
	byFinished = figures.Axis{Label: "finished prompts in the store", Log: true}
	bySize     = figures.Axis{Label: "size, KB", Log: true}
)

var pictures = []picture{
	{"bench", "throughput.svg", "Throughput against workers, 3 calls a prompt with calculator", byWorkers, figures.Axis{Label: "turns a second", Log: true},
		[]curve{{"Turns/workers=", "model with a latency"}, {"FlatOut/workers=", "model at once"}}, idealTurns},
	{"bench", "memory.svg", "Memory against sessions in flight", figures.Axis{Label: "workers"}, figures.Axis{Label: "peak anonymous memory, MB"},
		[]curve{{"TurnsMemory/workers=", "3 calls a prompt with calculator"}}, nil},
	{"bench", "memory-prompts.svg", "Memory against prompts", byPrompts, figures.Axis{Label: "peak anonymous memory, MB"},
		[]curve{{"PromptsMemory/prompts=", "whole run, 64 workers"}, {"Memory/new=", "until the first request"}, {"Memory/finished=", "resume of a complete run"}}, nil},
	{"bench", "commits.svg", "Latency of a durable commit of a 4 KB turn", byWriters, figures.Axis{Label: "latency, ms", Log: true},
		[]curve{{"CommitP99/writers=", "99th percentile"}, {"CommitP50/writers=", "median"}}, nil},
	{"bench", "commit-rate.svg", "Durable commits of 4 KB turns", byWriters, figures.Axis{Label: "commits a second"},
		[]curve{{"Commits/writers=", "one after the other in each session"}}, nil},
	{"bench", "resume.svg", "Resume against finished prompts", byFinished, figures.Axis{Label: "seconds", Log: true},
		[]curve{{"Start/finished=", "to the first request"}, {"StartKilled/finished=", "the same after kill -9"}, {"Resume/finished=", "complete run, to its exit"}}, nil},
	{"bench", "turns.svg", "Processor time of a turn against the length of its conversation", byTurns, figures.Axis{Label: "ms a turn of 4 KB"},
		[]curve{{"Turn/turns=", "run"}, {"TurnBare/turns=", "bare client, same requests"}, {"TurnBeyond/turns=", "difference"}}, nil},
	{"bench", "sizes.svg", "Processor time of a prompt against what it carries", bySize, figures.Axis{Label: "ms a prompt", Log: true},
		[]curve{{"PromptSize/KB=", "long prompt"}, {"ReplySize/KB=", "long reply"}, {"ResultSize/KB=", "long output of a command"}}, nil},
	{"soak", "soak.svg", "Twenty minutes of faulty replies and hostile commands, 24 workers", figures.Axis{Label: "minutes"},
		figures.Axis{Label: "MB, descriptors, prompts a second"},
		[]curve{{"SoakMemory", "anonymous memory"}, {"SoakDescriptors", "open descriptors"}, {"SoakRate", "prompts finished"}}, nil},
}

// soakStep is how many minutes lie between two samples of a soak.
const soakStep = 10. / 60

// chart is the picture of a report, empty if there is too little to show.
func (p picture) chart(r figures.Report) figures.Chart {
	c := figures.Chart{Title: p.title, X: p.x, Y: p.y}
	for _, l := range p.lines {
		if points := l.points(r); len(points) > 1 {
			c.Lines = append(c.Lines, figures.Line{Name: l.name, Points: points})
		}
	}
	if p.ideal != nil && len(c.Lines) > 0 {
		c.Lines = append(c.Lines, figures.Line{Name: "ideal with that latency", Points: p.ideal(r), Dashed: true})
	}
	return c
}

func (l curve) points(r figures.Report) []figures.Point {
	if strings.HasSuffix(l.prefix, "=") {
		return r.Series(l.prefix)
	}
	return r.Course(l.prefix, soakStep)
}

// idealTurns is what the model with a latency would let workers do that take no time.
func idealTurns(r figures.Report) (points []figures.Point) {
	walls := r.Series("TurnsWall/workers=")
	for i, p := range r.Series("Turns/workers=") {
		points = append(points, figures.Point{X: p.X, Y: p.Y * walls[i].Y})
	}
	return points
}

// draw writes the pictures of all reports into a folder.
func draw(all figures.Reports, dir string) error {
	for _, p := range pictures {
		c := p.chart(all[p.from])
		if len(c.Lines) == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, p.file), c.SVG(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
