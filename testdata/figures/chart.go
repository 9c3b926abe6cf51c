package figures

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// Chart is a picture of lines.
type Chart struct {
	Title string
	X, Y  Axis
	Lines []Line
}

// Axis says what an axis shows. A linear one begins at 0, a logarithmic one
// shows what is above 0 alone.
type Axis struct {
	Label string // with the unit
	Log   bool
}

// Line is a row of points, joined in their order.
type Line struct {
	Name   string
	Points []Point
	Dashed bool // something to compare with, as an ideal
}

// Point is a value with the lowest and the highest of its samples.
type Point struct{ X, Y, Low, High float64 }

// The picture and the field of its lines, in pixels.
const (
	width, height            = 720, 400
	left, right, top, bottom = 76, 40, 84, 56
)

// style has colours for light and for dark surroundings.
const style = `
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.back { fill: #ffffff } .grid { stroke: #d1d9e0; stroke-width: 1 }
.line { fill: none; stroke-width: 2 } .whisker { stroke-width: 1 } .dashed { stroke-dasharray: 6 4; stroke-width: 1.5 }
.s0 { stroke: #0969da } .s1 { stroke: #bc4c00 } .s2 { stroke: #1a7f37 } .s3 { stroke: #8250df } .s4 { stroke: #59636e }
.f0 { fill: #0969da } .f1 { fill: #bc4c00 } .f2 { fill: #1a7f37 } .f3 { fill: #8250df } .f4 { fill: #59636e }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .back { fill: #0d1117 } .grid { stroke: #3d444d }
.s0 { stroke: #58a6ff } .s1 { stroke: #ffa657 } .s2 { stroke: #56d364 } .s3 { stroke: #d2a8ff } .s4 { stroke: #9198a1 }
.f0 { fill: #58a6ff } .f1 { fill: #ffa657 } .f2 { fill: #56d364 } .f3 { fill: #d2a8ff } .f4 { fill: #9198a1 }
}
`

// colours is how many lines can be told apart.
const colours = 5

// SVG draws the chart; the same chart always as the same bytes.
func (c Chart) SVG() []byte {
	d := drawing{x: c.X.scale(c.Lines, func(p Point) []float64 { return []float64{p.X} }),
		y: c.Y.scale(c.Lines, func(p Point) []float64 { return []float64{p.Y, p.Low, p.High} })}
	d.print(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	d.print("<title>%s</title>\n<style>%s</style>\n", html.EscapeString(c.Title), style)
	d.print(`<rect class="back" width="%d" height="%d" rx="6"/>`+"\n", width, height)
	d.text(left, 28, "start", "title", c.Title)
	d.axes(c)
	for i, line := range c.Lines {
		d.line(i%colours, line)
	}
	d.legend(c.Lines)
	d.print("</svg>\n")
	return d.out.Bytes()
}

// drawing is a chart on its way to SVG.
type drawing struct {
	out  bytes.Buffer
	x, y scale
}

func (d *drawing) print(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

func (d *drawing) text(x, y float64, anchor, class, text string) {
	d.print(`<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`+"\n", x, y, anchor, class, html.EscapeString(text))
}

func (d *drawing) atX(v float64) float64 { return left + d.x.part(v)*(width-left-right) }
func (d *drawing) atY(v float64) float64 { return height - bottom - d.y.part(v)*(height-top-bottom) }

func (d *drawing) axes(c Chart) {
	for _, v := range d.y.ticks {
		y := d.atY(v)
		d.print(`<path class="grid" d="M%d %.1fH%d"/>`+"\n", left, y, width-right)
		d.text(left-8, y+4, "end", "tick", Short(v))
	}
	for _, v := range d.x.ticks {
		x := d.atX(v)
		d.print(`<path class="grid" d="M%.1f %dV%d"/>`+"\n", x, top, height-bottom)
		d.text(x, height-bottom+18, "middle", "tick", Short(v))
	}
	d.text(left+(width-left-right)/2, height-14, "middle", "label", c.X.Label)
	middle := float64(top + (height-top-bottom)/2)
	d.print(`<text transform="translate(18 %.1f) rotate(-90)" text-anchor="middle" class="label">%s</text>`+"\n", middle, html.EscapeString(c.Y.Label))
}

// mostDots can be told apart on a line.
const mostDots = 40

func (d *drawing) line(colour int, l Line) {
	var path strings.Builder
	for i, p := range l.Points {
		x, y := d.atX(p.X), d.atY(p.Y)
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
		if l.Dashed || len(l.Points) > mostDots {
			continue
		}
		d.print(`<circle class="f%d" cx="%.1f" cy="%.1f" r="3.5"/>`+"\n", colour, x, y)
		if p.High > p.Low {
			d.print(`<path class="whisker s%d" d="M%.1f %.1fV%.1f"/>`+"\n", colour, x, d.atY(p.Low), d.atY(p.High))
		}
	}
	d.print(`<path class="line s%d%s" d="%s"/>`+"\n", colour, dashed(l), path.String())
}

func dashed(l Line) string {
	if l.Dashed {
		return " dashed"
	}
	return ""
}

// letter is about the width of one, in pixels.
const letter = 7

func (d *drawing) legend(lines []Line) {
	x, y := float64(left), 52.0
	for i, l := range lines {
		wide := float64(30 + letter*len([]rune(l.Name)) + 18)
		if x+wide > width-8 {
			x, y = left, y+20
		}
		d.print(`<path class="line s%d%s" d="M%.1f %.1fh22"/>`+"\n", i%colours, dashed(l), x, y-4)
		d.text(x+28, y, "start", "name", l.Name)
		x += wide
	}
}
