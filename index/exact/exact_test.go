package exact

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestAgreesWithTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		x := math.Exp(r.Float64()*1400 - 700)
		if got, want := Ln(x), math.Log(x); math.Abs(got-want) > 1e-13*math.Max(1, math.Abs(want)) {
			t.Fatalf("Ln(%g) = %v, want %v", x, got, want)
		}
		y := r.Float64()*1400 - 700
		if got, want := Exp(y), math.Exp(y); math.Abs(got-want) > 1e-12*want {
			t.Fatalf("Exp(%g) = %v, want %v", y, got, want)
		}
	}
	if Ln(0) != math.Inf(-1) || Ln(-1) != math.Inf(-1) || Exp(-1000) != 0 || math.IsInf(Exp(1000), 0) {
		t.Error("the ends")
	}
}

// TestBits pins some results: they are the same on every architecture, or replicas disagree.
func TestBits(t *testing.T) {
	for _, c := range []struct {
		got  float64
		want uint64
	}{{Ln(2), 0x3fe62e42fefa39ef}, {Ln(10), 0x40026bb1bbb55515}, {Exp(1), 0x4005bf0a8b14576a},
		{Exp(-3.7), 0x3f99511fc6871044}, {Ln(.001), 0xc01ba18a998fffa0}} {
		if b := math.Float64bits(c.got); b != c.want {
			t.Errorf("%v: %#x, want %#x", c.got, b, c.want)
		}
	}
}

func TestSumHasNoOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	xs := make([]float64, 10_000)
	for i := range xs {
		xs[i] = r.Float64()*4 - 2
	}
	var first Sum
	for range 5 {
		var s Sum
		for _, x := range xs {
			s.Add(x)
		}
		if first == 0 {
			first = s
		}
		if s != first {
			t.Fatalf("%v, want %v", s, first)
		}
		r.Shuffle(len(xs), func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
	}
	plain := 0.0
	for _, x := range xs {
		plain += x
	}
	if math.Abs(plain-first.Value()) > 1e-7 {
		t.Errorf("%v, want about %v", first.Value(), plain)
	}
}
