package mind

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// neverMerged are the memory types that are never merged: instructions, rules and goals keep their exact wording.
var neverMerged = set("procedural constraint rule goal self_model")

// MaxCluster bounds the memories that one merge combines.
const MaxCluster = 10

// A meaning holds the features of a text that are compared with those of another text.
type meaning struct {
	words     []string // meaningful stems, sorted and distinct
	numbers   []string // in order
	names     []string // capitalised stems that do not begin a sentence
	order     []string // all meaningful stems, in the order of the text
	denied    bool
	truncated bool // the text may be longer than the part that was read
}

func meaningOf(text string) (m meaning) {
	m.truncated = len(text) >= MaxRead
	for _, s := range sentences(text) {
		for i, w := range s {
			switch {
			case w.is(denial):
				m.denied = !m.denied
			case w.is(filler | functionWord):
			default:
				st := normalizeTime(w.stem)
				m.words = append(m.words, st)
				m.order = append(m.order, st)
				if hasNumber(st) {
					m.numbers = append(m.numbers, st)
				} else if i > 0 && isUpper(w.raw) && !months[w.lower] && !weekdays[w.lower] {
					m.names = append(m.names, st)
				}
			}
		}
	}
	slices.Sort(m.words)
	m.words = slices.Compact(m.words)
	return m
}

// The differences that duplicates may have.
const (
	maxExtraWords = 2   // words that one text may add
	minShare      = .75 // least share of the longer text's words that the shorter one has
	minWords      = 3   // shorter texts are never duplicates
)

// sameMeaning reports whether two texts are duplicates.
func sameMeaning(a, b *meaning) bool {
	if d := len(a.words) - len(b.words); d > maxExtraWords || d < -maxExtraWords {
		return false
	}
	if a.truncated || b.truncated || len(a.words) < minWords || len(b.words) < minWords || a.denied != b.denied ||
		!slices.Equal(a.numbers, b.numbers) {
		return false
	}
	if len(a.words) < len(b.words) {
		a, b = b, a
	}
	// a text that replaces a word states another fact
	if float64(len(b.words)) < minShare*float64(len(a.words)) || slices.ContainsFunc(b.words, notIn(a.words)) {
		return false
	}
	return !slices.ContainsFunc(a.names, notIn(b.words)) && slices.Equal(a.commonNames(b), b.commonNames(a))
}

// commonNames returns the names that both texts have, in the order of m. The order distinguishes subject from object.
func (m *meaning) commonNames(o *meaning) (out []string) {
	for _, w := range m.order {
		if (slices.Contains(m.names, w) || slices.Contains(o.names, w)) && slices.Contains(o.order, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// maxCandidates bounds the rows that one seed is compared with.
const maxCandidates = 400

// Duplicates returns clusters of rows that say the same as a seed and were created within a window around it, as
// indexes in s.Rows. Rows in excluded are skipped.
func Duplicates(ctx context.Context, s *Snapshot, seeds []int, window oplog.Time, excluded map[string]bool) (clusters [][]int, err error) {
	n := len(s.Rows)
	if len(seeds) == 0 {
		return nil, nil
	}
	meanings := make([]meaning, n)
	rows := map[string][]int32{} // by word
	for i := range s.Rows {
		if err := s.pause(ctx, i); err != nil {
			return nil, err
		}
		if r := &s.Rows[i]; !mergeable(r, excluded) {
			continue
		}
		meanings[i] = meaningOf(s.Rows[i].Text)
		for _, w := range meanings[i].words {
			rows[w] = append(rows[w], int32(i))
		}
	}
	used := make([]bool, n)
	finder := candidateFinder{rows: rows, seen: make([]int32, n)}
	for _, seed := range seeds {
		if err := s.pause(ctx, 0); err != nil { // a seed may be compared with hundreds of rows
			return nil, err
		}
		if used[seed] || len(meanings[seed].words) == 0 {
			continue
		}
		cluster := []int{seed}
		a := &s.Rows[seed]
		for _, c := range finder.candidatesOf(meanings[seed].words, int32(seed)) {
			b := &s.Rows[c]
			if used[c] || !withinWindow(a, b, window) || !sameMeaning(&meanings[seed], &meanings[c]) || !mayMerge(a, b) {
				continue
			}
			if cluster = append(cluster, int(c)); len(cluster) == MaxCluster {
				break
			}
		}
		if len(cluster) > 1 {
			slices.Sort(cluster)
			for _, c := range cluster {
				used[c] = true
			}
			clusters = append(clusters, cluster)
		}
	}
	return clusters, nil
}

func mergeable(r *Row, excluded map[string]bool) bool {
	return !r.Merged && !r.NoMerge && !neverMerged[r.Type] && !excluded[r.RID] && r.Text != ""
}

// candidateFinder finds the candidates of one seed after the other and reuses its buffers.
type candidateFinder struct {
	rows       map[string][]int32 // by word
	seen       []int32            // row → last seed that returned it, plus one
	rare       []string
	candidates []int32
}

// candidatesOf returns the rows that share one of the seed's rarest words, because duplicates differ in few words.
// The slice is valid until the next call.
func (f *candidateFinder) candidatesOf(words []string, seed int32) []int32 {
	f.rare, f.candidates = append(f.rare[:0], words...), f.candidates[:0]
	slices.SortFunc(f.rare, func(a, b string) int { return cmp.Or(cmp.Compare(len(f.rows[a]), len(f.rows[b])), cmp.Compare(a, b)) })
	f.seen[seed] = seed + 1
	for _, w := range f.rare[:min(len(f.rare), maxExtraWords+2)] {
		for _, r := range f.rows[w] {
			if f.seen[r] == seed+1 {
				continue
			}
			f.seen[r] = seed + 1
			if f.candidates = append(f.candidates, r); len(f.candidates) >= maxCandidates {
				return f.candidates
			}
		}
	}
	return f.candidates
}

// withinWindow reports whether two rows are in one namespace and their creation times differ by at most the window.
func withinWindow(a, b *Row, window oplog.Time) bool {
	d := a.Created - b.Created
	return a.Namespace == b.Namespace && d <= window && -d <= window
}

// mayMerge reports whether the owners, trust classes, domains and entities of two rows permit a merge.
func mayMerge(a, b *Row) bool {
	if a.Owner != b.Owner { // the merged memory would have no owner
		return false
	}
	// The merged memory would get the lower class, so a client could demote a memory by repeating it.
	if oplog.TrustOf(a.Trust) != oplog.TrustOf(b.Trust) {
		return false
	}
	if a.Domain != b.Domain && a.Domain != "" && b.Domain != "" && a.Domain != "general" && b.Domain != "general" {
		return false
	}
	if len(a.Entities) == 0 || len(b.Entities) == 0 {
		return true
	}
	return slices.ContainsFunc(a.Entities, func(e string) bool {
		return slices.ContainsFunc(b.Entities, func(o string) bool { return strings.EqualFold(e, o) })
	})
}
