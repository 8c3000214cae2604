package node_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
)

// BenchmarkGrowth stores ten times twenty thousand memories in batches of a hundred. The ratio of the last rate to
// the first shows whether writes get slower as the database grows.
func BenchmarkGrowth(b *testing.B) {
	const parts, each, batch = 10, 20_000, 100
	for range b.N {
		c := start(b, 1)
		s, caller := c.service(c.leader())
		var rates []float64
		for p := range parts {
			begin := time.Now()
			for i := 0; i < each; i += batch {
				drafts := make([]api.Draft, batch)
				for j := range drafts {
					k := p*each + i + j
					drafts[j] = api.Draft{Text: fmt.Sprintf("note %d: deploy %d of service %d took %d seconds", k, k%7919, k%331, k%97),
						Importance: .5, Certainty: 1, HalfLife: 1}
				}
				if _, err := remember(b.Context(), s, caller, "", drafts...); err != nil {
					b.Fatal(err)
				}
			}
			rates = append(rates, each/time.Since(begin).Seconds())
		}
		b.ReportMetric(rates[0], "first/s")
		b.ReportMetric(rates[parts-1], "tenth/s")
		b.ReportMetric(rates[parts-1]/rates[0], "tenth/first")
	}
}
