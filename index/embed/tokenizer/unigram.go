package tokenizer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"unicode/utf8"
)

// A unigram splits a word into the pieces with the highest sum of scores.
type unigram struct {
	pieces  []scored // sorted, each once
	first   [257]int // index of the first piece whose first byte is at least this one
	penalty float64  // of a rune that no piece spells
	unknown int
}

// scored is a piece, its token and its logarithmic probability.
type scored struct {
	piece string
	id    int
	score float64
}

// UnmarshalJSON reads a pair of piece and score.
func (s *scored) UnmarshalJSON(raw []byte) error {
	return json.Unmarshal(raw, &[]any{&s.piece, &s.score})
}

// unknownPenalty is added to the cost of the worst piece: a rune that no piece spells costs so much.
const unknownPenalty = 10

func (t *Tokenizer) unigram(f *modelFile, special map[string]bool) error {
	if orDefault(f.ByteFallback, false) {
		return unsupported("Unigram with", "byte_fallback")
	}
	var list []scored
	if err := json.Unmarshal(f.Vocab, &list); err != nil {
		return fmt.Errorf("vocabulary: %w", err)
	}
	if len(list) == 0 || len(list) > maxVocab {
		return fmt.Errorf("a vocabulary of %d pieces: 1 to %d are allowed", len(list), maxVocab)
	}
	if f.UnknownID != nil {
		if *f.UnknownID < 0 || *f.UnknownID >= len(list) {
			return fmt.Errorf("unk_id %d of %d pieces", *f.UnknownID, len(list))
		}
		t.Unknown = *f.UnknownID
	}
	u := &unigram{unknown: t.Unknown, penalty: math.Inf(1)}
	for i := range list {
		s := &list[i]
		s.id = i
		if len(s.piece) > maxPiece || math.IsNaN(s.score) || math.Abs(s.score) > 1e6 {
			return fmt.Errorf("piece %.64q with the score %g: at most %d bytes and scores within a million are allowed",
				s.piece, s.score, maxPiece)
		}
		u.penalty = min(u.penalty, s.score)
		if s.piece != "" && i != t.Unknown && !special[s.piece] {
			u.pieces = append(u.pieces, *s)
		}
	}
	if len(u.pieces) == 0 {
		return errors.New("vocabulary: no pieces")
	}
	u.penalty -= unknownPenalty
	// Of pieces that are the same the last counts.
	slices.SortFunc(u.pieces, func(a, b scored) int { return cmp.Or(cmp.Compare(a.piece, b.piece), cmp.Compare(b.id, a.id)) })
	u.pieces = slices.CompactFunc(u.pieces, func(a, b scored) bool { return a.piece == b.piece })
	for c := range u.first {
		u.first[c] = sort.Search(len(u.pieces), func(i int) bool { return int(u.pieces[i].piece[0]) >= c })
	}
	t.Size, t.model = len(list), u
	return nil
}

// A step is the best split of a word up to a place.
type step struct {
	from  int // -1: none yet
	id    int
	score float64
}

func (u *unigram) split(word string, tokens []int) []int {
	best := make([]step, len(word)+1)
	for i := range best {
		best[i].from = -1
	}
	best[0].from = 0
	reach := func(from, to, id int, score float64) {
		if score += best[from].score; best[to].from < 0 || score > best[to].score {
			best[to] = step{from, id, score}
		}
	}
	for at := 0; at < len(word); {
		_, size := utf8.DecodeRuneInString(word[at:])
		spelled := false // a piece spells the rune
		u.eachPrefix(word[at:], func(s *scored) {
			reach(at, at+len(s.piece), s.id, s.score)
			spelled = spelled || len(s.piece) == size
		})
		if !spelled {
			reach(at, at+size, u.unknown, u.penalty)
		}
		at += size
	}
	before := len(tokens)
	for at := len(word); at > 0; at = best[at].from {
		id := best[at].id
		if id == u.unknown && (id < 0 || len(tokens) > before && tokens[len(tokens)-1] == id) {
			continue // one token for unknown runes in a row
		}
		tokens = append(tokens, id)
	}
	slices.Reverse(tokens[before:])
	return tokens
}

// eachPrefix calls f with the pieces that s begins with, shorter ones first.
func (u *unigram) eachPrefix(s string, f func(*scored)) {
	lo, hi := u.first[s[0]], u.first[int(s[0])+1]
	for n := 1; lo < hi; n++ {
		if p := &u.pieces[lo]; len(p.piece) == n { // in this order it is the first of those that begin with it
			f(p)
			lo++
		}
		if n == len(s) {
			return
		}
		c, from := s[n], lo
		lo = from + sort.Search(hi-from, func(i int) bool { return u.pieces[from+i].piece[n] >= c })
		hi = from + sort.Search(hi-from, func(i int) bool { return u.pieces[from+i].piece[n] > c })
	}
}
