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

func TestAdditive(t *testing.T) {
	w := DefaultWeights()
	for _, c := range []struct {
		s    Signals
		want float64
	}{
		{Signals{1, .5, 1, .5, 0, 0}, 1.259956},
		{Signals{.6, .3, 1, .5, 0, 0}, .920100},
		{Signals{.1, .9, 1, .9, 0, 0}, .584130},
		{Signals{.65, .6, .8, .2, 0, 0}, .793705},
		{Signals{.08, .8, .3, .9, 0, 0}, .314026},
		{Signals{.6, .3, 1, .5, -.8, 0}, 1.140924},
		{Signals{.6, .3, 1, .5, -.8, -1}, 1.369108},
		{Signals{.6, .3, 1, .5, .8, -1}, .912739},
	} {
		near(t, "additive", w.Additive(c.s), c.want, 1e-6)
	}
	s := Signals{Sim: .3, Decay: .3, Recency: 1, Importance: .5}
	near(t, "graph, near", w.AdditiveGraph(s, 1), .784259, 1e-6)
	near(t, "graph, far", w.AdditiveGraph(s, .25), .515677, 1e-6)
}

func TestClocks(t *testing.T) {
	w := DefaultWeights()
	for sim, want := range map[float64]float64{0: .0474, .1: .1419, .25: .5, .4: .8581, .8: .9986} {
		near(t, "gate", w.Gate(sim), want, 1e-4)
	}
	for days, want := range map[float64]float64{0: 1, 1: .8669, 7: .3679, 30: .0138} {
		near(t, "recency", Recency(days*86400), want, 1e-4)
	}
	near(t, "decay after a half-life", Decay(.8, 100, 100), .4, 1e-12)
	near(t, "decay without a half-life", Decay(.8, 0, 0), 0, 0)
}

func TestSentiment(t *testing.T) {
	for q, want := range map[string]int{
		"what went wrong with the failed launch": -1, "why is he so happy": 1, "stressing times": -1,
		"a good and a bad day": 0, "the table is green": 0, "": 0,
	} {
		if got := Sentiment(q); got != want {
			t.Errorf("Sentiment(%q) = %d, want %d", q, got, want)
		}
	}
}

func TestDate(t *testing.T) {
	for q, want := range map[string]date{
		"what happened on 3 June 2021?": {2021, 3, 6}, "in May 2020": {2020, 0, 5}, "you may go in 5": {},
		"May I go": {}, "on october 21st": {0, 21, 10}, "march on": {}, "the 2019 trip": {2019, 0, 0},
	} {
		if got := dateIn(q); got != want {
			t.Errorf("dateIn(%q) = %v, want %v", q, got, want)
		}
	}
}
