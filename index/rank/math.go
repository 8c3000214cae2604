package rank

import "math"

// exp and ln give the same bits on every architecture, where the standard
// library's may be written in assembly. Explicit conversions forbid fused
// operations, which would round differently where they exist.

func exp(x float64) float64 {
	if x < -700 {
		return 0
	}
	x = min(x, 700)
	n := math.Floor(x/math.Ln2 + .5)
	r := x - float64(n*math.Ln2)
	sum := 1.0
	for k := 18; k >= 1; k-- {
		sum = 1 + float64(float64(r*sum)/float64(k))
	}
	return math.Ldexp(sum, int(n))
}

// ln is for positive numbers.
func ln(x float64) float64 {
	frac, e := math.Frexp(x)
	if frac < math.Sqrt2/2 {
		frac, e = frac*2, e-1
	}
	s := (frac - 1) / (frac + 1)
	z := float64(s * s)
	sum := 0.0
	for k := 23; k >= 1; k -= 2 {
		sum = float64(sum*z) + 1/float64(k)
	}
	return float64(float64(e)*math.Ln2) + float64(2*float64(s*sum))
}

func round(x float64) float64 { return math.Round(x*1e9) / 1e9 }
