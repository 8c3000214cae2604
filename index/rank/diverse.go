package rank

import "slices"

// How answers are made diverse.
const (
	diversePool = 300 // rows that are compared, ten for each that is wanted at most
	nearlySame  = .98 // above it, the later one is left out
	merit       = .7  // weight of a row's composite; the rest is taken off for its likeness to a row before it
)

// Diverse takes k of a ranking so that a row is worth less the more it says what a row before it said: in turn the
// one with the greatest merit·composite − (1−merit)·likeness. What is nearly the same as something taken is left out.
// Likeness is 0 to 1. Rows keep their scores; Parts.Alike says what was taken off.
func Diverse(ranked []Scored, k int, like func(a, b uint32) float64) (out []Scored) {
	pool := slices.Clone(ranked[:min(len(ranked), 10*k, diversePool)])
	rest := ranked[len(pool):]
	for len(pool) > 0 && len(out) < k {
		best, most := -1, 0.0
		for i := range pool {
			if p := pool[i].Parts; p.Alike > nearlySame {
				continue
			}
			value := float64(merit*pool[i].Parts.composite()) - float64((1-merit)*pool[i].Parts.Alike)
			if best < 0 || value > most { // the better ranked of two that are equal
				best, most = i, value
			}
		}
		if best < 0 {
			break
		}
		taken := pool[best]
		if best > 0 { // something better ranked was passed over for it
			taken.Why = append(slices.Clone(taken.Why), "diversified")
		}
		out, pool = append(out, taken), slices.Delete(pool, best, best+1)
		for i := range pool {
			pool[i].Parts.Alike = max(pool[i].Parts.Alike, like(taken.Row, pool[i].Row))
		}
	}
	if more := k - len(out); more > 0 && len(rest) > 0 { // more were asked for than are compared
		out = append(out, rest[:min(more, len(rest))]...)
	}
	return out
}
