package rank

import "slices"

// How answers are made diverse.
const (
	diversePool = 300 // rows that are compared; at most ten for each wanted row
	nearlySame  = .98 // rows more alike than this are not both selected
	merit       = .7  // weight of a row's composite; the rest of 1 is the weight of its likeness to selected rows
)

// Diverse selects k rows of a ranking by maximal marginal relevance: each time the one with the greatest
// merit·composite − (1−merit)·likeness to the most similar row selected before. Rows nearly the same as a selected
// one are left out. like returns 0 to 1. Rows keep their scores; Parts.Alike is that likeness.
func Diverse(ranked []Scored, k int, like func(a, b uint32) float64) (out []Scored) {
	pool := slices.Clone(ranked[:min(len(ranked), 10*k, diversePool)])
	beyondPool := ranked[len(pool):]
	for len(pool) > 0 && len(out) < k {
		best, bestValue := -1, 0.0
		for i := range pool {
			if p := pool[i].Parts; p.Alike > nearlySame {
				continue
			}
			value := float64(merit*pool[i].Parts.composite()) - float64((1-merit)*pool[i].Parts.Alike)
			if best < 0 || value > bestValue { // of equal values the first, which is ranked better
				best, bestValue = i, value
			}
		}
		if best < 0 {
			break
		}
		selected := pool[best]
		if best > 0 { // a better ranked row was passed over
			selected.Why = append(slices.Clone(selected.Why), "diversified")
		}
		out, pool = append(out, selected), slices.Delete(pool, best, best+1)
		for i := range pool {
			pool[i].Parts.Alike = max(pool[i].Parts.Alike, like(selected.Row, pool[i].Row))
		}
	}
	if missing := k - len(out); missing > 0 && len(beyondPool) > 0 { // more rows are wanted than are compared
		out = append(out, beyondPool[:min(missing, len(beyondPool))]...)
	}
	return out
}
