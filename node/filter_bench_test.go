package node_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// BenchmarkAsk queries a node with 100,000 memories of 45 words over the wire: without a filter, with increasingly
// selective filters, for a block of context, and for one key. -benchtime 1000x gives each the same questions.
func BenchmarkAsk(b *testing.B) {
	const n, batch = 100_000, 1_000
	c := start(b, 1)
	s, caller := c.service(0)
	random := rand.New(rand.NewPCG(1, 2))
	words := rand.NewZipf(random, 1.1, 4, 20_000)
	text := func(k int) string {
		var t strings.Builder
		for range k {
			fmt.Fprintf(&t, "w%d ", words.Uint64())
		}
		return t.String()
	}
	for from := 0; from < n; from += batch {
		drafts := make([]api.Draft, batch)
		for i := range drafts {
			at := from + i
			drafts[i] = api.Draft{Text: text(45),
				Attributes: fmt.Appendf(nil, `{"even":%t,"kind":"k%d","n":%d}`, at%2 == 0, at%100, at%1000)}
		}
		if _, err := api.RememberBatch.Do(b.Context(), s, caller, &api.RememberBatchRequest{Memories: drafts}); err != nil {
			b.Fatal(err)
		}
	}
	cl := c.dial(0)
	if err := cl.Change(b.Context(), "put", obj{"key": "/one", "text": "the one"}, nil); err != nil {
		b.Fatal(err)
	}
	for _, bc := range []struct {
		name, op string
		asked    func(question string) obj
	}{
		{"recall", "recall", func(q string) obj { return obj{"query": q} }},
		{"half", "recall", func(q string) obj { return obj{"query": q, "filter": obj{"even": true}} }},
		{"one in a hundred", "recall", func(q string) obj { return obj{"query": q, "filter": obj{"kind": "k7"}} }},
		{"range", "recall", func(q string) obj { return obj{"query": q, "filter": obj{"n": obj{"gte": 100, "lt": 300}}} }},
		{"nested", "recall", func(q string) obj {
			return obj{"query": q,
				"filter": obj{"or": []obj{{"kind": obj{"in": []string{"k1", "k2", "k3"}}}, {"not": obj{"even": true}}},
					"n": obj{"lt": 500}}}
		}},
		{"context", "context", func(q string) obj { return obj{"query": q, "max_tokens": 1000} }},
		{"key", "get", func(string) obj { return obj{"key": "/one"} }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			random = rand.New(rand.NewPCG(3, 4))
			words = rand.NewZipf(random, 1.1, 50, 20_000) // rarer ones
			for b.Loop() {
				if err := cl.Query(b.Context(), bc.op, bc.asked(text(6)), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
