package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// compare returns the command `cairn bench compare`, which compares two result files.
func compare(a *cli.Streams) *cobra.Command {
	return cli.WithJSON(&cobra.Command{Use: "compare BEFORE AFTER", Short: "Compare two files that bench load wrote with -o",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			before, err := readReport(args[0])
			if err != nil {
				return err
			}
			after, err := readReport(args[1])
			if err != nil {
				return err
			}
			rows := compareRuns(before.Runs, after.Runs)
			if cli.AsJSON(c) {
				return a.JSON(rows)
			}
			return Grid(a.Out, "workload\tclients\ttarget\tper second\tp50\tp99\t", rows, func(r comparedRun) string {
				return fmt.Sprintf("%s\t%d\t%s\t%.2f×\t%.2f×\t%.2f×\t", r.Workload, r.Clients, formatTarget(r.Target), r.Rate, r.P50, r.P99)
			})
		}})
}

func readReport(path string) (r LoadReport, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil || len(r.Runs) == 0 {
		return r, fmt.Errorf("%s was not written by bench load with -o", path)
	}
	return r, nil
}

// comparedRun is a run that both files contain. Each ratio is the later value divided by the earlier one.
type comparedRun struct {
	Workload string  `json:"workload"`
	Clients  int     `json:"clients"`
	Target   float64 `json:"target_per_second,omitempty"`
	Rate     float64 `json:"per_second_ratio"`
	P50      float64 `json:"p50_ratio"`
	P99      float64 `json:"p99_ratio"`
}

func compareRuns(before, after []LoadRun) (rows []comparedRun) {
	for _, a := range after {
		i := slices.IndexFunc(before, func(b LoadRun) bool {
			return b.Workload == a.Workload && b.Clients == a.Clients && b.Target == a.Target
		})
		if i >= 0 && before[i].Requests > 0 {
			b := before[i]
			rows = append(rows, comparedRun{a.Workload, a.Clients, a.Target, a.Rate / b.Rate, a.P50 / b.P50, a.P99 / b.P99})
		}
	}
	return rows
}

// loadCurve draws latency over load as SVG: for each workload a line for the median and one for the 99th percentile.
func loadCurve(runs []LoadRun) []byte {
	p := Plot{X: Axis{Unit: "/s"}, Y: Axis{Unit: " ms", Log: true}} // a logarithmic scale keeps the tail readable
	var names []string
	for _, r := range runs {
		if !slices.Contains(names, r.Workload) {
			names = append(names, r.Workload)
		}
	}
	for i, name := range names {
		median, tail := Line{Name: name + ": median, p99 dashed", colour: i}, Line{colour: i, dashed: true}
		for _, r := range runs {
			if r.Workload == name && r.Requests > 0 {
				median.At, tail.At = append(median.At, Point{r.Rate, r.P50}), append(tail.At, Point{r.Rate, r.P99})
			}
		}
		p.Lines = append(p.Lines, median, tail)
	}
	return p.SVG()
}
