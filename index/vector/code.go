package vector

import (
	"math"
	"math/bits"
)

// seed fixes the rotation's signs. It is part of the format: codes made with another do not compare.
const seed = 0x6361_6972_6e01

const rounds = 4

// A rotation turns vectors of one dimension so that their signs carry about equal information.
type rotation struct {
	dim, block int
	flips      [rounds][]float32 // +1 or -1
	norm       float32           // keeps lengths through a transform of block dimensions
}

func newRotation(dim int) *rotation {
	r := &rotation{dim: dim, block: 1 << (bits.Len(uint(dim)) - 1)}
	r.norm = float32(1 / math.Sqrt(float64(r.block)))
	state := uint64(seed)
	for i := range r.flips {
		r.flips[i] = make([]float32, dim)
		for j := range r.flips[i] {
			r.flips[i][j] = 1
			if splitmix(&state)&1 == 1 {
				r.flips[i][j] = -1
			}
		}
	}
	return r
}

// splitmix implements the SplitMix64 generator.
func splitmix(s *uint64) uint64 {
	*s += 0x9e3779b97f4a7c15
	z := *s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// apply rotates x in place.
func (r *rotation) apply(x []float32) {
	for i := range r.flips {
		for j, f := range r.flips[i] {
			x[j] = float32(x[j] * f)
		}
		r.hadamard(x[:r.block])
		if r.block < r.dim {
			r.hadamard(x[r.dim-r.block:])
		}
	}
}

func (r *rotation) hadamard(x []float32) {
	for h := 1; h < len(x); h *= 2 {
		for i := 0; i < len(x); i += 2 * h {
			lo, hi := x[i:i+h], x[i+h:i+2*h]
			for j, a := range lo {
				b := hi[j]
				lo[j], hi[j] = a+b, a-b
			}
		}
	}
	for i := range x {
		x[i] = float32(x[i] * r.norm)
	}
}

// code writes the signs of a rotated vector and returns its factor.
func code(rotated []float32, into []byte) (factor float32) {
	clear(into)
	var sum float64
	for i, x := range rotated {
		if x < 0 {
			into[i/8] |= 1 << (i % 8)
			sum -= float64(x)
		} else {
			sum += float64(x)
		}
	}
	if sum == 0 {
		return 0
	}
	return float32(1 / sum)
}

// quantise writes a vector as int8 and returns what one step is worth.
func quantise(x []float32, into []int8) (scale float32) {
	var top float32
	for _, v := range x {
		top = max(top, v, -v)
	}
	clear(into)
	if top == 0 {
		return 0
	}
	scale = float32(float64(top) / 127)
	for i, v := range x {
		into[i] = int8(math.RoundToEven(float64(v) / float64(scale)))
	}
	return scale
}

// Unit scales a vector to length 1 in place; a vector without length is none.
func Unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(float64(x) * float64(x))
	}
	if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
		return nil
	}
	n := math.Sqrt(sum)
	for i := range v {
		v[i] = float32(float64(v[i]) / n)
	}
	return v
}

// Dot returns the exact product that answers are ordered by. The products of two float32 are exact in float64 and are
// added in order, so that it is the same on every machine.
func Dot(a, b []float32) (sum float64) {
	b = b[:len(a)]
	for i, x := range a {
		sum += float64(float64(x) * float64(b[i]))
	}
	return sum
}
