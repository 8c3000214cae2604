package index_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// BenchmarkSearch searches a database of CAIRN_BENCH_ROWS memories (20,000) of 45 words, with vectors of
// CAIRN_BENCH_DIM dimensions (384) around CAIRN_BENCH_CENTRES centres. With 0 centres, the default, vectors have no
// structure.
func BenchmarkSearch(b *testing.B) {
	n, dim, around := 20_000, 384, 0
	for name, to := range map[string]*int{"CAIRN_BENCH_ROWS": &n, "CAIRN_BENCH_DIM": &dim, "CAIRN_BENCH_CENTRES": &around} {
		if s := os.Getenv(name); s != "" {
			*to, _ = strconv.Atoi(s)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 8, 50_000)
	text := func(words int, least uint64) string {
		var s strings.Builder
		for range words {
			w := zipf.Uint64()
			for w < least {
				w = zipf.Uint64()
			}
			fmt.Fprintf(&s, "w%dx ", w)
		}
		return s.String()
	}
	centres := make([][]float32, around)
	gauss := func() []float32 {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	vec := func() []float32 {
		v := gauss()
		if around > 0 {
			for i, x := range centres[rng.IntN(around)] {
				v[i] = x + v[i]/2
			}
		}
		return v
	}
	for i := range centres {
		centres[i] = gauss()
	}
	var whole []string // texts of a hundred memories
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, l := openReplica(b), newLog(b)
	r.apply(l.records, 1)
	for i := 0; i < n; i += 500 {
		var ops []oplog.Op
		for k := i; k < min(i+500, n); k++ {
			m := remember(fmt.Sprintf("0190%08d-0000-7000-8000-000000000000", k), text(45, 0))
			if k%(n/100) == 0 {
				whole = append(whole, m.Text)
			}
			m.Created += oplog.Time(k) * 1e6
			m.Attributes = fmt.Appendf(nil,
				`{"due":"2026-%02d-%02d","half":%v,"id":"id-%d","percent":%d,"tags":["t%d","t%d"]}`, 1+k%12, 1+k%28,
				k%2 == 0, k, k%100, k%7, k%9)
			m.Namespace, m.Vector = fmt.Sprint("ns", k%10), oplog.MakeVector(vec())
			ops = append(ops, m)
		}
		l.add(1, ops...)
		r.apply(l.records[len(l.records)-1:], 1)
		l.records[len(l.records)-1].Data = nil
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if op, err := r.index.Learn(b.Context(), 1); err != nil {
		b.Fatal(err)
	} else if op != nil {
		l.add(1, op)
		r.apply(l.records[len(l.records)-1:], 1)
		b.Logf("%d partitions", len(op.Partitions.Centroids)/dim)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Logf("%d rows: heap %d bytes a row, lag %+v", n, (after.HeapAlloc-before.HeapAlloc)/uint64(n), r.index.Lag())
	type kind struct {
		name string
		ask  func() index.Query
	}
	words := func() index.Query { return index.Query{Text: text(6, 50)} }
	both := func() index.Query { return index.Query{Text: text(6, 50), Vector: vec()} }
	matching := func(name, raw string, ask func() index.Query) kind {
		f := parsed(b, raw)
		return kind{name, func() index.Query {
			q := ask()
			q.Match = f
			return q
		}}
	}
	for _, kind := range []kind{
		{"words", words},
		{"sure", func() index.Query { // the rarer words of one memory, which scores far above all others
			words := slices.DeleteFunc(strings.Fields(whole[rng.IntN(len(whole))]), func(w string) bool { return len(w) < len("w100x") })
			return index.Query{Text: strings.Join(words[:min(6, len(words))], " ")}
		}},
		{"namespace", func() index.Query { return index.Query{Text: text(6, 50), Filter: index.Filter{Namespace: "ns3"}} }},
		{"time", func() index.Query { return index.Query{Text: text(1, 50) + "this week"} }},
		{"stop-words", func() index.Query { return index.Query{Text: "who is it"} }},
		{"vector", func() index.Query { return index.Query{Vector: vec()} }},
		{"both", both},
		{"both-namespace", func() index.Query {
			return index.Query{Text: text(6, 50), Vector: vec(), Filter: index.Filter{Namespace: "ns3"}}
		}},
		matching("words-1%", `{"percent":7}`, words),
		matching("words-50%", `{"half":true}`, words),
		matching("words-dates", `{"due":{"gte":"2026-03-01","lt":"2026-06-01"},"tags":"t3"}`, words),
		matching("words-id", `{"id":{"ne":"id-7"}}`, words),
		matching("words-created", fmt.Sprintf(`{"or":[{"percent":3},{"@created_at":{"gte":%q}}]}`, now.Format(time.RFC3339)), words),
		matching("both-1%", `{"percent":7}`, both),
		matching("both-50%", `{"half":true}`, both),
		matching("list-1%", `{"percent":7}`, func() index.Query { return index.Query{} }),
	} {
		b.Run(kind.name, func(b *testing.B) {
			asked := make([]index.Query, 200)
			for i := range asked {
				asked[i] = kind.ask()
				asked[i].K = 10
			}
			for i := 0; b.Loop(); i++ {
				r.ask(asked[i%len(asked)])
			}
		})
		b.Run(kind.name+"-4-clients", func(b *testing.B) {
			asked := make([]index.Query, 200)
			for i := range asked {
				asked[i] = kind.ask()
				asked[i].K = 10
			}
			var next atomic.Int64
			var clients sync.WaitGroup
			for range 4 {
				clients.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						r.ask(asked[i%int64(len(asked))])
					}
				})
			}
			clients.Wait()
		})
	}
}
