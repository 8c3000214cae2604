package bert

import "math"

// The inner loop computes one tile at a time.
const (
	tileRows = 6
	tileCols = 16
)

// kernels are the inner loops. Every number of a result is made by the same operations in the same order wherever it
// lies in a tile and whatever lies next to it; between two sets of kernels they differ in the last bits.
type kernels struct {
	name string
	// tile adds to c, tileRows rows of tileCols numbers, the product of a, tileRows rows of k, and the panel b, k
	// rows of tileCols. lda and ldc are the numbers from one row to the next.
	tile func(a []float32, lda int, b, c []float32, ldc, k int)
	// gelu replaces each x with x·Φ(x), where Φ is the normal distribution. There are a multiple of 8.
	gelu func(x []float32)
	// exp replaces each x with exp(scale·x − less), which is at most 1, and returns their sum. There are a multiple
	// of 8.
	exp func(x []float32, scale, less float32) float32
}

var portable = kernels{name: "portable", tile: tileGo, gelu: geluGo, exp: expGo}

func tileGo(a []float32, lda int, b, c []float32, ldc, k int) {
	for r := range tileRows {
		out := (*[tileCols]float32)(c[r*ldc:])
		sums := *out
		for i, x := range a[r*lda:][:k] {
			row := (*[tileCols]float32)(b[tileCols*i:])
			for j := range sums {
				sums[j] += x * row[j]
			}
		}
		*out = sums
	}
}

// geluTable holds √½, the bounds of erf's argument, ½, and the coefficients of a quotient of two polynomials in z²,
// the highest power first: z·P(z²)/Q(z²) is erf(z) within 4·10⁻⁷ between the bounds, beyond which it is ±1. They were
// fitted by least squares.
var geluTable = [16]float32{
	math.Sqrt2 / 2, 4, -4, .5,
	1.9111556781581385e-08, -1.9422279819991672e-06, .0001472619769629091, .003989544231444597, .05152161419391632,
	.20710106194019318, 1.1283791065216064,
	.0010208644671365619, .014955977909266949, .11796069145202637, .5168697834014893, 1,
}

func geluGo(x []float32) {
	for i, v := range x {
		z := max(min(v*geluTable[0], geluTable[1]), geluTable[2])
		t := z * z
		p, q := geluTable[4], geluTable[11]
		for _, c := range geluTable[5:11] {
			p = p*t + c
		}
		for _, c := range geluTable[12:] {
			q = q*t + c
		}
		half := v * geluTable[3]
		x[i] = half + half*(z*p/q)
	}
}

// expTable holds the least argument, 1/ln 2, ln 2 in two parts, of which the first has few enough bits to be
// multiplied without rounding, and the coefficients of exp between ±ln 2/2, the highest power first.
var expTable = [11]float32{-86, 1 / math.Ln2, .693359375, -2.12194440e-4, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1, 1}

func expGo(x []float32, scale, less float32) (sum float32) {
	for i, v := range x {
		v = max(v*scale-less, expTable[0])
		n := float32(math.RoundToEven(float64(v * expTable[1])))
		v = v - n*expTable[2] - n*expTable[3]
		p := expTable[4]
		for _, c := range expTable[5:] {
			p = p*v + c
		}
		x[i] = math.Float32frombits(math.Float32bits(p) + uint32(int32(n))<<23)
		sum += x[i]
	}
	return sum
}

// panels are a matrix of k rows, cut into panels of tileCols columns that lie one behind the other.
type panels struct {
	k    int
	data []float32
}

// multiply adds a·w to c. a has rows of k numbers, lda apart, and c rows as long as w is wide, ldc apart.
func (s *space) multiply(kern *kernels, a []float32, lda, rows int, w panels, c []float32, ldc int) {
	const block = 16 * tileRows // rows that stay near while the panels go by
	whole := rows - rows%tileRows
	for top := 0; top < whole; top += block {
		for p := 0; p*w.k*tileCols < len(w.data); p++ {
			panel := w.data[p*w.k*tileCols:][:w.k*tileCols]
			for r := top; r < min(top+block, whole); r += tileRows {
				kern.tile(a[r*lda:], lda, panel, c[r*ldc+p*tileCols:], ldc, w.k)
			}
		}
	}
	if whole == rows {
		return
	}
	// The rows that are left fill a tile only in part.
	tail := grow(&s.tail, tileRows*w.k)
	clear(tail)
	for r := whole; r < rows; r++ {
		copy(tail[(r-whole)*w.k:][:w.k], a[r*lda:])
	}
	for p := 0; p*w.k*tileCols < len(w.data); p++ {
		clear(s.tile[:])
		for r := whole; r < rows; r++ {
			copy(s.tile[(r-whole)*tileCols:][:tileCols], c[r*ldc+p*tileCols:])
		}
		kern.tile(tail, w.k, w.data[p*w.k*tileCols:][:w.k*tileCols], s.tile[:], tileCols, w.k)
		for r := whole; r < rows; r++ {
			copy(c[r*ldc+p*tileCols:][:tileCols], s.tile[(r-whole)*tileCols:])
		}
	}
}
