// Package exact is arithmetic that gives the same bits on every architecture and in every order. The standard library's
// logarithm and exponential may be assembly, sums of floats depend on their order, and a compiler may fuse a product
// with a sum; explicit conversions forbid that.
package exact

import "math"

// Exp returns e^x, at most e^700.
func Exp(x float64) float64 {
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

// Ln returns the natural logarithm; -Inf if x is not positive.
func Ln(x float64) float64 {
	if x <= 0 {
		return math.Inf(-1)
	}
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

// Round rounds a score to 1e-9, the precision in which scores are compared.
func Round(x float64) float64 { return math.Round(x*1e9) / 1e9 }

// A Sum adds numbers near 1, each rounded to 2^-40, so that their order does not matter. A million of them fit.
type Sum int64

const fine = 1 << 40

// Add adds x.
func (s *Sum) Add(x float64) { *s += Sum(math.RoundToEven(x * fine)) }

// Value returns the sum.
func (s Sum) Value() float64 { return float64(s) / fine }
