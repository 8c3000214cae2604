package embed

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"

	"github.com/cairndb/cairn/index/text"
)

// Hashed is the builtin embedder. Its features are the analysed words of a text (weight 1), neighbouring pairs of
// them (.3) and the groups of three and four letters of each word (together .5), damped by log1p and added, with a
// sign, to the place that their hash names. It repeats what the words say and is weaker than they are: its vectors
// only order what words leave empty.
type Hashed struct{ dim int }

// hashedVersion changes whenever a vector would.
const hashedVersion = "1"

// NewHashed returns the builtin embedder; 0 dimensions are 384.
func NewHashed(dim int) (*Hashed, error) {
	h := &Hashed{cmp.Or(dim, 384)}
	if err := checkDim(h.dim); err != nil {
		return nil, err
	}
	return h, nil
}

// Identity implements Embedder.
func (h *Hashed) Identity() Identity { return Identity{"builtin", hashedVersion, h.dim} }

// Embed implements Embedder.
func (h *Hashed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return each(ctx, texts, h.vector)
}

func (h *Hashed) vector(s string) []float32 {
	features := map[string]float64{}
	previous := ""
	for _, t := range text.Analyze(s) {
		if t.Extra {
			continue
		}
		features["w"+t.Term]++
		if previous != "" {
			features["p"+previous+" "+t.Term] += .3
		}
		previous = t.Term
		letters(t.Term, features)
	}
	names := make([]string, 0, len(features))
	for f := range features {
		names = append(names, f)
	}
	slices.Sort(names) // add in a fixed order
	sum := make([]float64, h.dim)
	for _, f := range names {
		hash := fnv.New64a()
		hash.Write([]byte(f))
		n := mix(hash.Sum64())
		weight := log1p(features[f])
		if n>>63 == 1 {
			weight = -weight
		}
		sum[n%uint64(h.dim)] += weight
	}
	var length float64
	for _, x := range sum {
		length += float64(x * x)
	}
	if length == 0 {
		return nil
	}
	v := make([]float32, h.dim)
	for i, x := range sum {
		v[i] = float32(x / math.Sqrt(length))
	}
	return v
}

// letters adds a word's groups of three and four letters, its ends marked.
func letters(word string, features map[string]float64) {
	r := []rune("<" + word + ">")
	n := max(len(r)-2, 0) + max(len(r)-3, 0)
	for size := 3; size <= 4; size++ {
		for i := 0; i+size <= len(r); i++ {
			features["c"+string(r[i:i+size])] += .5 / float64(n)
		}
	}
}

// mix spreads a hash over all bits.
func mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// log1p returns ln(1+x), computed by a series because the library's result differs by machine; x is not negative.
func log1p(x float64) float64 {
	frac, e := math.Frexp(1 + x)
	s := (frac - 1) / (frac + 1)
	z := float64(s * s)
	sum := 0.0
	for k := 41; k >= 1; k -= 2 {
		sum = float64(sum*z) + 1/float64(k)
	}
	return float64(float64(e)*math.Ln2) + float64(2*float64(s*sum))
}
