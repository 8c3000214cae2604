package mind

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// exempt are the types that are never merged: how to do things, and what holds for ever, is kept as it was said.
var exempt = set("procedural constraint rule goal self_model")

// MaxCluster bounds the memories that become one.
const MaxCluster = 10

// A meaning holds the parts of a text that are compared with those of another text.
type meaning struct {
	words   []string // stems that carry meaning, sorted, each once
	numbers []string // in order
	names   []string // capitalised stems inside sentences, where capitals mean something
	order   []string // all of the words, as they come
	denied  bool
	partly  bool // the text may be longer than what is read of it
}

func meaningOf(text string) (m meaning) {
	m.partly = len(text) >= MaxRead
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

// How far apart the words of duplicates may be: what one text says more than the other.
const (
	maxMore  = 2   // words
	minShare = .75 // of all words are in both
	minWords = 3   // under which nothing is compared
)

// sameMeaning reports whether two texts say the same.
func sameMeaning(a, b *meaning) bool {
	if d := len(a.words) - len(b.words); d > maxMore || d < -maxMore {
		return false
	}
	if a.partly || b.partly || len(a.words) < minWords || len(b.words) < minWords || a.denied != b.denied ||
		!slices.Equal(a.numbers, b.numbers) {
		return false
	}
	if len(a.words) < len(b.words) {
		a, b = b, a
	}
	// one word in another's place is another fact
	if float64(len(b.words)) < minShare*float64(len(a.words)) || slices.ContainsFunc(b.words, notIn(a.words)) {
		return false
	}
	return !slices.ContainsFunc(a.names, notIn(b.words)) && slices.Equal(a.commonNames(b), b.commonNames(a))
}

// commonNames returns the names of both texts in the order in which one has them, which tells subject from object.
func (m *meaning) commonNames(o *meaning) (out []string) {
	for _, w := range m.order {
		if (slices.Contains(m.names, w) || slices.Contains(o.names, w)) && slices.Contains(o.order, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// candidates bounds the rows one seed is compared with.
const candidates = 400

// Duplicates are the clusters of rows that say the same as a seed and were created within a window around it, all as
// places in the snapshot. Rows in taken are left alone.
func Duplicates(ctx context.Context, s *Snapshot, seeds []int, window oplog.Time, taken map[string]bool) (clusters [][]int, err error) {
	n := len(s.Rows)
	if len(seeds) == 0 {
		return nil, nil
	}
	means := make([]meaning, n)
	rows := map[string][]int32{} // by word
	for i := range s.Rows {
		if err := s.pause(ctx, i); err != nil {
			return nil, err
		}
		if r := &s.Rows[i]; !mergeable(r, taken) {
			continue
		}
		means[i] = meaningOf(s.Rows[i].Text)
		for _, w := range means[i].words {
			rows[w] = append(rows[w], int32(i))
		}
	}
	used := make([]bool, n)
	look := finder{rows: rows, seen: make([]int32, n)}
	for _, seed := range seeds {
		if err := s.pause(ctx, 0); err != nil { // a seed may be compared with hundreds of rows
			return nil, err
		}
		if used[seed] || len(means[seed].words) == 0 {
			continue
		}
		cluster := []int{seed}
		a := &s.Rows[seed]
		for _, c := range look.candidatesOf(means[seed].words, int32(seed)) {
			b := &s.Rows[c]
			if used[c] || !withinWindow(a, b, window) || !sameMeaning(&means[seed], &means[c]) || !mayMerge(a, b) {
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

func mergeable(r *Row, taken map[string]bool) bool {
	return !r.Made && !r.Held && !exempt[r.Type] && !taken[r.RID] && r.Text != ""
}

// finder finds candidates for seeds, one after the other, and reuses its buffers.
type finder struct {
	rows       map[string][]int32 // by word
	seen       []int32            // by row: the last seed that met it, and one
	rare       []string
	candidates []int32
}

// candidatesOf returns the rows that share one of a seed's rarest words, since duplicates differ in few words. The
// slice is valid until the next call.
func (f *finder) candidatesOf(words []string, seed int32) []int32 {
	f.rare, f.candidates = append(f.rare[:0], words...), f.candidates[:0]
	slices.SortFunc(f.rare, func(a, b string) int { return cmp.Or(cmp.Compare(len(f.rows[a]), len(f.rows[b])), cmp.Compare(a, b)) })
	f.seen[seed] = seed + 1
	for _, w := range f.rare[:min(len(f.rare), maxMore+2)] {
		for _, r := range f.rows[w] {
			if f.seen[r] == seed+1 {
				continue
			}
			f.seen[r] = seed + 1
			if f.candidates = append(f.candidates, r); len(f.candidates) >= candidates {
				return f.candidates
			}
		}
	}
	return f.candidates
}

// withinWindow reports whether two rows are of one namespace and close enough in time to be compared.
func withinWindow(a, b *Row, window oplog.Time) bool {
	d := a.Created - b.Created
	return a.Namespace == b.Namespace && d <= window && -d <= window
}

// mayMerge reports whether two rows may be merged as far as class of trust, domain and entities go.
func mayMerge(a, b *Row) bool {
	if oplog.TrustOf(a.Trust) != oplog.TrustOf(b.Trust) { // the product would have the lower class: whoever repeats a memory could demote it
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
