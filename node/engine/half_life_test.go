package engine

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
)

// TestHalfLivesStayTheSame: a half-life that is read in hours and stored again, as peers and imports do, does not
// change. It stays within its bounds.
func TestHalfLivesStayTheSame(t *testing.T) {
	t.Parallel()
	stored := func(hours float64) float64 {
		t.Helper()
		op, err := makeRemember(&api.Draft{Text: "x", HalfLife: hours}, time.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return op.HalfLife
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		hours := math.Pow(10, 9*rng.Float64()-3)
		if s := stored(hours); stored(s/3600) != s {
			t.Fatalf("%v hours are stored as %v seconds, and those again as %v", hours, s, stored(s/3600))
		}
	}
	if stored(-1) != 0 || stored(1e50) != mostHalfLife {
		t.Errorf("out of bounds: %v, %v", stored(-1), stored(1e50))
	}
}
