package text

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"
)

const benchRows = 100_000

func benchTexts(n int) []Row {
	r := rand.New(rand.NewPCG(7, 8))
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = Row{Row: uint32(i), Group: uint32(r.IntN(10)), Text: words(r, 25+r.IntN(40), 30_000)}
	}
	return rows
}

func benchQueries(n, terms int) []string {
	r := rand.New(rand.NewPCG(9, 10))
	out := make([]string, n)
	for i := range out {
		out[i] = words(r, terms+r.IntN(5), 30_000)
	}
	return out
}

// BenchmarkAgainstBleve prints medians of this package and of Bleve's own bm25
// search over the same rows and queries, interleaved in one run. Run it with
// -benchtime 1x; it is one long measurement.
func BenchmarkAgainstBleve(b *testing.B) {
	rows := benchTexts(benchRows)
	var took []time.Duration
	var x *Index
	for range 2 {
		if x != nil {
			x.Close()
		}
		x = openAt(b, b.TempDir())
		start := time.Now()
		for part := range slices.Chunk(rows, 1000) {
			if err := x.Ready(context.Background()); err != nil {
				b.Fatal(err)
			}
			apply(b, x, part)
		}
		settle(b, x)
		took = append(took, time.Since(start))
	}
	b.Logf("rebuild of %d rows: %v, %.0f rows/s", benchRows, took, benchRows/slices.Min(took).Seconds())
	stock := stockBleve(b, rows)
	b.Logf("segments: own %d", len(x.snap.segments))
	for _, terms := range []int{5, 20} {
		queries := benchQueries(300, terms)
		for _, filtered := range []bool{false, true} {
			own, cold, peer := []time.Duration{}, []time.Duration{}, []time.Duration{}
			for range 3 {
				for i, text := range queries {
					q := Query{Text: text}
					if filtered {
						q.Groups = []uint32{uint32(i % 10)}
					}
					x.cfg.Cache = NewCache(0)
					clearEntries(x)
					cold = append(cold, timed(func() { find(b, x, q) }))
					x.cfg.Cache = NewCache(256 << 20)
					clearEntries(x)
					find(b, x, q)
					own = append(own, timed(func() { find(b, x, q) }))
					peer = append(peer, timed(func() { stockSearch(b, stock, text, filtered, i%10) }))
				}
			}
			p := median(peer)
			b.Logf("terms %d filtered %v: stock %v; warm %v = %.3f; cache off %v = %.3f", terms, filtered, p,
				median(own), float64(median(own))/float64(p), median(cold), float64(median(cold))/float64(p))
		}
	}
}

func clearEntries(x *Index) {
	for _, s := range x.snap.segments {
		s.entries = nil
	}
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

func stockBleve(b *testing.B, rows []Row) bleve.Index {
	m := bleve.NewIndexMapping()
	doc := bleve.NewDocumentStaticMapping()
	text := mapping.NewTextFieldMapping()
	text.Analyzer, text.Store, text.DocValues, text.IncludeTermVectors, text.IncludeInAll = "en", false, false, false, false
	doc.AddFieldMappingsAt("t", text)
	group := mapping.NewKeywordFieldMapping()
	group.Store, group.DocValues, group.IncludeTermVectors, group.IncludeInAll = false, false, false, false
	doc.AddFieldMappingsAt("g", group)
	m.DefaultMapping, m.ScoringModel = doc, "bm25"
	ix, err := bleve.NewUsing(b.TempDir()+"/stock", m, scorch.Name, scorch.Name, map[string]any{
		"unsafe_batch": true, "scorchPersisterOptions": map[string]any{"PersisterNapTimeMSec": 50, "PersisterNapUnderNumFiles": 1000}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ix.Close() })
	start := time.Now()
	for part := range slices.Chunk(rows, 1000) {
		batch := ix.NewBatch()
		for _, r := range part {
			if err := batch.Index(hex8(r.Row), map[string]any{"t": r.Text, "g": fmt.Sprint("g", r.Group)}); err != nil {
				b.Fatal(err)
			}
		}
		if err := ix.Batch(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("stock bleve, one caller: %.0f rows/s", benchRows/time.Since(start).Seconds())
	return ix
}

func stockSearch(b *testing.B, ix bleve.Index, text string, filtered bool, group int) {
	match := bleve.NewMatchQuery(text)
	match.SetField("t")
	var q query.Query = match
	if filtered {
		term := bleve.NewTermQuery(fmt.Sprint("g", group))
		term.SetField("g")
		q = bleve.NewConjunctionQuery(match, term)
	}
	if _, err := ix.Search(bleve.NewSearchRequestOptions(q, 10, 0, false)); err != nil {
		b.Fatal(err)
	}
}
