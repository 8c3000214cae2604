package bench

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// A Plot is a line chart.
type Plot struct {
	X, Y  Axis
	Lines []Line
}

// An Axis begins at 0, or if it is logarithmic, at its smallest positive value.
type Axis struct {
	Unit string
	Log  bool
}

// A Line connects its points in the order of X. Its name is printed above the plot.
type Line struct {
	Name   string
	At     []Point
	colour int
	dashed bool
}

// A Point is a point of a Line.
type Point struct{ X, Y float64 }

var colours = []string{"#0b7a6f", "#d08a1d", "#5a78d1", "#b455a0", "#7c8a3c"}

// scale returns the function that maps a value to a position between 0 and length, and the values of the grid lines.
func (a Axis) scale(length float64, values []float64) (place func(float64) float64, marks []float64) {
	most := slices.Max(append(values, 1e-9))
	if !a.Log {
		for i := range 5 {
			marks = append(marks, most*float64(i)/4)
		}
		return func(v float64) float64 { return v / most * length }, marks
	}
	least := most / 10
	for _, v := range values {
		if v > 0 {
			least = min(least, v)
		}
	}
	for v := math.Pow(10, math.Ceil(math.Log10(least))); v <= most*1.001; v *= 10 {
		marks = append(marks, v)
	}
	return func(v float64) float64 { return math.Log(max(v, least)/least) / math.Log(most/least) * length }, marks
}

// Label formats a value with its unit.
func (a Axis) Label(v float64) string {
	for _, k := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= k.of {
			return fmt.Sprintf("%.3g%s%s", v/k.of, k.name, a.Unit)
		}
	}
	return fmt.Sprintf("%.3g%s", v, a.Unit)
}

// SVG draws the plot.
func (p Plot) SVG() []byte {
	const width, height, margin = 720.0, 420.0, 60.0
	var xs, ys []float64
	for _, l := range p.Lines {
		for _, at := range l.At {
			xs, ys = append(xs, at.X), append(ys, at.Y)
		}
	}
	along, below := p.X, p.Y
	right, across := along.scale(width-2*margin, xs)
	up, lines := below.scale(height-2*margin, ys)
	x := func(v float64) float64 { return margin + right(v) }
	y := func(v float64) float64 { return height - margin - up(v) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="12"><rect width="100%%" height="100%%" fill="#fff"/>`,
		width, height)
	for _, v := range lines {
		fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`,
			margin, width-margin, y(v), y(v), margin-6, y(v)+4, below.Label(v))
	}
	for _, v := range across {
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`, x(v), height-margin+18, along.Label(v))
	}
	named := 0
	for _, l := range p.Lines {
		colour, dash := colours[l.colour%len(colours)], ""
		if l.dashed {
			dash = ` stroke-dasharray="6 4"`
		}
		var points []string
		slices.SortFunc(l.At, func(a, b Point) int { return int(math.Copysign(1, a.X-b.X)) })
		for _, at := range l.At {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(at.X), y(at.Y)))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x(at.X), y(at.Y), colour)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, strings.Join(points, " "), colour, dash)
		if l.Name != "" {
			fmt.Fprintf(&b, `<text x="%g" y="%g" fill="%s">%s</text>`, margin, 20+16*float64(named), colour, html.EscapeString(l.Name))
			named++
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
