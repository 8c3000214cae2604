package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// BenchmarkSupersede compares a statement with the statements of databases of 1,000 and 30,000 memories, whose words
// have the frequencies of a language.
func BenchmarkSupersede(b *testing.B) {
	n, c := startSingle(b)
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 4, 50_000)
	text := func() string {
		var words []string
		for range 12 {
			words = append(words, fmt.Sprintf("word%d", zipf.Uint64()))
		}
		words[3] = "is" // a statement that could replace another
		return strings.Join(words, " ")
	}
	stored := 0
	for _, size := range []int{1000, 30_000} {
		for ; stored < size; stored += 1000 {
			drafts := make([]api.Draft, 1000)
			for i := range drafts {
				drafts[i] = api.Draft{Text: text(), Type: "semantic", Importance: .5, Certainty: 1, HalfLife: 1}
			}
			if err := n.Service().Remember(b.Context(), c, drafts...); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				if _, err := n.Service().Marks(b.Context(), c.DB, text()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
