package text

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index/exact"
)

// A Row is one text to index.
type Row struct {
	Row, Group uint32
	Text       string
	Tag        Tag
}

// A model is the same index as plain maps, which scores every row one by one.
type model map[uint32]Row

func (m model) search(q Query) []Hit {
	terms, readings := slices.Clone(q.Terms), map[string]string(nil)
	if terms == nil {
		terms, readings = analyzeQuery(q.Text)
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	in := func(r Row) bool { return len(q.Groups) == 0 || slices.Contains(q.Groups, r.Group) }
	var all Totals
	df := make(map[string]uint64)
	docs, known := make(map[uint32]Document), make(map[string]bool)
	for row, r := range m {
		d := new(analyzer).document(r.Text)
		docs[row] = d
		for _, t := range d.terms {
			known[t.term] = true
		}
		if q.Local && !in(r) {
			continue
		}
		all.Rows++
		all.Tokens += uint64(d.length)
		for _, t := range d.terms {
			df[t.term]++
		}
	}
	if len(terms) > maxTerms {
		slices.SortFunc(terms, func(a, b string) int { return cmp.Or(cmp.Compare(df[a]-1, df[b]-1), strings.Compare(a, b)) })
		terms = terms[:maxTerms]
		slices.Sort(terms)
	}
	scored := exactly(terms, df)
	if !q.Exact {
		terms = slices.DeleteFunc(terms, func(t string) bool { return !known[t] && known[readings[t]] })
		scored = m.widened(terms, df, known, docs, in, len(q.Groups) == 0 || q.Local, all.Rows)
	}
	var hits []Hit
	for row, d := range docs {
		sum, matched := 0.0, 0
		for _, term := range scored {
			tf := 0
			for _, t := range d.terms {
				if slices.Contains(term.any, t.term) {
					tf += int(t.tf)
				}
			}
			if tf > 0 {
				matched++
				sum += float64(float64(term.share*idfSquared(all.Rows, term.df)) * saturation(uint16(tf), lengthNorm(d.length, all)))
			}
		}
		if matched > 0 && in(m[row]) && (q.Keep == nil || q.Keep(row)) {
			hits = append(hits, Hit{Row: row, Score: exact.Round(float64(sum * coord(matched, len(scored)))), Matched: matched})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Row, b.Row)) })
	return hits[:min(len(hits), cmp.Or(q.K, 10))]
}

// A modelTerm is a term of a question: any of some words.
type modelTerm struct {
	any   []string
	df    uint64
	share float64
}

func exactly(terms []string, df map[string]uint64) (out []modelTerm) {
	for _, t := range terms {
		out = append(out, modelTerm{[]string{t}, df[t], 1})
	}
	return out
}

// widened replaces unknown terms by their substitutes, found in a scan of all words of all rows.
func (m model) widened(terms []string, df map[string]uint64, known map[string]bool, docs map[uint32]Document, in func(Row) bool, local bool, rows uint64) (out []modelTerm) {
	asked := slices.Clone(terms)
	changed := map[string]modelTerm{}
	unknown := 0
	for _, term := range terms {
		if known[term] || unknown == maxUnknown || !replaceable(term) {
			continue
		}
		unknown++
		var found []modelSubstitute
		add := func(kind uint8, words ...string) {
			for _, w := range words {
				if df[w] == 0 || w == term {
					return
				}
			}
			found = append(found, modelSubstitute{kind, substitute{commonPrefix(term, words[0]), words}})
		}
		for w := range df {
			most := 0
			if n := len([]rune(term)); n >= twoEditLetters {
				most = 2
			} else if n >= oneEditLetters {
				most = 1
			}
			rest, begins := strings.CutPrefix(w, term)
			d := lettersOff([]rune(term), []rune(w))
			switch {
			case looksLikeHash(term):
				if begins || strings.HasPrefix(term, w) && len(w) >= hashLetters {
					add(otherForm, w)
				}
			case slices.Contains(otherStems(term), w):
				add(otherForm, w)
			case slices.Contains(derivations(term), w):
				add(derived, w)
			case d <= most && onlyLetters(w) && (w[0] == term[0] || w[0] == term[1] && w[1] == term[0]):
				add([]uint8{0, oneEdit, twoEdits}[d], w)
			case begins && most > 0 && isEnding(rest):
				add(suffixed, w)
			}
		}
		if !looksLikeHash(term) {
			for _, g := range splitInTwo(term) {
				if df[g.terms[0]] > 0 && df[g.terms[1]] > 0 {
					found = append(found, modelSubstitute{twoWords, g})
				}
			}
		}
		if len(found) == 0 {
			continue
		}
		slices.SortFunc(found, func(a, b modelSubstitute) int {
			var first int
			if a.kind == twoWords && b.kind == twoWords {
				first = cmp.Compare(df[b.terms[0]]*df[b.terms[1]], df[a.terms[0]]*df[a.terms[1]])
			}
			return cmp.Or(cmp.Compare(a.kind, b.kind), first, cmp.Compare(b.prefix, a.prefix), slices.Compare(a.terms, b.terms))
		})
		best := found[0]
		if best.kind == twoWords {
			asked = slices.DeleteFunc(asked, func(t string) bool { return t == term })
			asked = append(asked, best.terms...)
			continue
		}
		t := modelTerm{share: 1}
		for _, g := range found {
			if g.kind == best.kind && len(t.any) < maxSubstitutes {
				t.any = append(t.any, g.terms[0])
				t.df += df[g.terms[0]]
			}
		}
		if best.kind != otherForm {
			t.share = substituteShare
		}
		if local && len(t.any) > 1 { // of any of them
			t.df = 0
			for row, d := range docs {
				if in(m[row]) && slices.ContainsFunc(d.terms, func(f termFreq) bool { return slices.Contains(t.any, f.term) }) {
					t.df++
				}
			}
		}
		t.df = min(t.df, rows)
		changed[term] = t
	}
	slices.Sort(asked)
	for _, t := range slices.Compact(asked) {
		if c, ok := changed[t]; ok {
			out = append(out, c)
		} else {
			out = append(out, modelTerm{[]string{t}, df[t], 1})
		}
	}
	return out
}

type modelSubstitute struct {
	kind uint8
	substitute
}

// lettersOff counts the letters to insert, delete, replace or swap with the next one to turn one word into the other.
func lettersOff(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// sameHits fails unless rows, matches and the bits of scores are equal.
func sameHits(t fataler, what string, got, want []Hit) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d hits, want %d: %v, %v", what, len(got), len(want), got, want)
	}
	for i := range got {
		if got[i].Row != want[i].Row || got[i].Score != want[i].Score || got[i].Matched != want[i].Matched {
			t.Fatalf("%s: hit %d: got %+v, want %+v", what, i, got[i], want[i])
		}
	}
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func openAt(t testing.TB, dir string) *Index {
	t.Helper()
	x, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func apply(t fataler, x *Index, add []Row, del ...uint32) {
	t.Helper()
	if err := x.Apply(add, del); err != nil {
		t.Fatalf("apply: %v", err)
	}
}

func settle(t fataler, x *Index) {
	t.Helper()
	if err := x.Sync(context.Background()); err != nil {
		t.Fatalf("sync: %v", err)
	}
}

// Apply analyses texts and applies them with ApplyDocuments.
func (x *Index) Apply(add []Row, del []uint32) error {
	texts := make([]string, len(add))
	for i, r := range add {
		texts[i] = r.Text
	}
	docs := Analyse(texts)
	for i, r := range add {
		docs[i] = docs[i].As(r.Row, r.Group, r.Tag)
	}
	return x.ApplyDocuments(docs, del)
}

func find(t fataler, x *Index, q Query) []Hit {
	t.Helper()
	hits, err := x.Search(q)
	if err != nil {
		t.Fatalf("search: %v", err)
	}
	return hits
}

// words returns a text whose words follow a steep distribution, as in a language.
func words(r *rand.Rand, n, vocabulary int) string {
	var b strings.Builder
	for range n {
		f := r.Float64()
		fmt.Fprintf(&b, "w%dx ", int(f*f*f*float64(vocabulary)))
	}
	return b.String()
}
