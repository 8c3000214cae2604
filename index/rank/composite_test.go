package rank

import (
	"math"
	"testing"
)

func near(t *testing.T, name string, got, want, by float64) {
	t.Helper()
	if math.Abs(got-want) > by {
		t.Errorf("%s = %.7f, want %.7f", name, got, want)
	}
}

func TestClocks(t *testing.T) {
	w := DefaultWeights()
	for sim, want := range map[float64]float64{0: .0474, .1: .1419, .25: .5, .4: .8581, .8: .9986} {
		near(t, "gate", w.gate(sim), want, 1e-4)
	}
	for days, want := range map[float64]float64{0: 1, 1: .8669, 7: .3679, 30: .0138} {
		near(t, "recency", recency(days*86400), want, 1e-4)
	}
	near(t, "decay after a half-life", decay(.8, 100, 100), .4, 1e-12)
	near(t, "decay without a half-life", decay(.8, 0, 0), 0, 0)
}
