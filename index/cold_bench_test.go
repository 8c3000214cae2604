package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// BenchmarkColdAnswer times the first answer of a closed index of 1,000 memories, with and without files. With files,
// as on a node, it may take 100 ms.
func BenchmarkColdAnswer(b *testing.B) {
	for _, c := range []struct {
		name  string
		small int
		dim   int
	}{{"from files", index.SmallRows, 0}, {"from files, with vectors", index.SmallRows, 384}, {"from the state", 1000, 0},
		{"from the state, with vectors", 1000, 384}} {
		b.Run(c.name, func(b *testing.B) {
			r, l := openReplicaWith(b, index.Config{Small: c.small}), newLog(b)
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range 1000 {
				words := make([]string, 40)
				for k := range words {
					words[k] = fmt.Sprint(vocabulary[rng.IntN(len(vocabulary))], rng.IntN(50))
				}
				m := remember(fmt.Sprint("m", i), strings.Join(words, " "))
				if c.dim > 0 {
					v := make([]float32, c.dim)
					for k := range v {
						v[k] = float32(rng.NormFloat64())
					}
					m.Vector = oplog.MakeVector(v)
				}
				m.Session, m.Entities = fmt.Sprint("s", i/20), []oplog.Mention{{Name: fmt.Sprint("Entity", rng.IntN(300))}}
				l.add(1, m)
			}
			r.apply(l.records, 100)
			r.ask(index.Query{Text: "garden1", K: 10})
			var took []time.Duration
			for b.Loop() {
				b.StopTimer()
				r.closeAll()
				b.StartTimer()
				start := time.Now()
				if len(r.ask(index.Query{Text: "garden1 river2 violin3", K: 10})) == 0 {
					b.Fatal("nothing is found")
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			if p50 := took[len(took)/2]; c.small == index.SmallRows && p50 > 100*time.Millisecond {
				b.Errorf("a first answer takes %v", p50)
			}
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "p99-ms")
		})
	}
}
