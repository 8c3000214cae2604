package bench

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// compare puts two result files side by side.
func compare(a *cli.Streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "compare BEFORE AFTER", Short: "Compare two files that bench load wrote with -o", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := readReport(args[0])
			if err != nil {
				return err
			}
			after, err := readReport(args[1])
			if err != nil {
				return err
			}
			rows := compareRuns(before.Runs, after.Runs)
			if asJSON {
				return a.JSON(rows)
			}
			w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', tabwriter.AlignRight)
			fmt.Fprintln(w, "workload\tclients\ttarget\tper second\tp50\tp99\t")
			for _, r := range rows {
				fmt.Fprintf(w, "%s\t%d\t%.0f\t%.2f×\t%.2f×\t%.2f×\t\n", r.Workload, r.Clients, r.Target, r.Rate, r.P50, r.P99)
			}
			return w.Flush()
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func readReport(path string) (r loadReport, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil || len(r.Runs) == 0 {
		return r, fmt.Errorf("%s is no result of bench load", path)
	}
	return r, nil
}

// compared is a run of both files: each figure is the later one over the earlier one.
type compared struct {
	Workload string  `json:"workload"`
	Clients  int     `json:"clients"`
	Target   float64 `json:"target_per_second,omitempty"`
	Rate     float64 `json:"per_second_ratio"`
	P50      float64 `json:"p50_ratio"`
	P99      float64 `json:"p99_ratio"`
}

func compareRuns(before, after []loadRun) (rows []compared) {
	for _, a := range after {
		i := slices.IndexFunc(before, func(b loadRun) bool {
			return b.Workload == a.Workload && b.Clients == a.Clients && b.Target == a.Target
		})
		if i >= 0 && before[i].Requests > 0 {
			b := before[i]
			rows = append(rows, compared{a.Workload, a.Clients, a.Target, a.Rate / b.Rate, a.P50 / b.P50, a.P99 / b.P99})
		}
	}
	return rows
}

// curve draws latency over load: a line for the median and one for the 99th percentile of each workload.
func curve(runs []loadRun) []byte {
	const width, height, margin = 720.0, 420.0, 60.0
	colours := []string{"#0b7a6f", "#d08a1d", "#5a78d1", "#b455a0", "#7c8a3c"}
	maxX, maxY, minY := 1.0, 1.0, math.Inf(1)
	for _, r := range runs {
		maxX, maxY = max(maxX, r.Rate), max(maxY, r.P99)
		if r.P50 > 0 {
			minY = min(minY, r.P50)
		}
	}
	minY = min(minY, maxY/10)
	x := func(v float64) float64 { return margin + v/maxX*(width-2*margin) }
	y := func(v float64) float64 { // a tail is seen on a logarithmic scale
		return height - margin - math.Log(max(v, minY)/minY)/math.Log(maxY/minY)*(height-2*margin)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="12"><rect width="100%%" height="100%%" fill="#fff"/>`, width, height)
	for v := math.Pow(10, math.Ceil(math.Log10(minY))); v <= maxY; v *= 10 {
		fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%g ms</text>`, margin, width-margin, y(v), y(v), margin-6, y(v)+4, v)
	}
	for i := range 5 {
		v := maxX * float64(i) / 4
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">%.0f/s</text>`, x(v), height-margin+18, v)
	}
	var names []string
	for _, r := range runs {
		if !slices.Contains(names, r.Workload) {
			names = append(names, r.Workload)
		}
	}
	for i, name := range names {
		colour := colours[i%len(colours)]
		var mine []loadRun
		for _, r := range runs {
			if r.Workload == name && r.Requests > 0 {
				mine = append(mine, r)
			}
		}
		slices.SortFunc(mine, func(a, b loadRun) int { return int(math.Copysign(1, a.Rate-b.Rate)) })
		for _, q := range []struct {
			of   func(loadRun) float64
			dash string
		}{{func(r loadRun) float64 { return r.P50 }, ""}, {func(r loadRun) float64 { return r.P99 }, ` stroke-dasharray="6 4"`}} {
			var points []string
			for _, r := range mine {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(r.Rate), y(q.of(r))))
				fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x(r.Rate), y(q.of(r)), colour)
			}
			fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, strings.Join(points, " "), colour, q.dash)
		}
		fmt.Fprintf(&b, `<text x="%g" y="%g" fill="%s">%s: median, p99 dashed</text>`, margin, 20+16*float64(i), colour, html.EscapeString(name))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
