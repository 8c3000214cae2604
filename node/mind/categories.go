package mind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// The lists of categories (words.go) are fixed. If several memories use an unlisted word as the value of an attribute
// whose other values belong to one category, the word probably belongs to it too. A trigger suggests it; the lists do
// not change by themselves.
const (
	maxFrames        = 10_000
	minCategoryWords = 3 // values of one category that tie an attribute to it
	minUnknownUses   = 2 // memories that use the unlisted word
	categoryUrgency  = .3
)

// noteFrame counts a fact's one-word value by its attribute, without the part after " for ".
func (s *Snapshot) noteFrame(f *fact) {
	word := strings.ToLower(f.shown)
	if f.denied || strings.ContainsRune(word, ' ') || !isUpper(f.shown) && categories[word] == "" || isTemporal(word) || hasNumber(word) {
		return
	}
	frame, _, _ := strings.Cut(f.attr, " for ")
	if s.frames[frame] == nil {
		if len(s.frames) == maxFrames {
			return
		}
		s.frames[frame] = map[string]int{}
	}
	s.frames[frame][word]++
}

// CategoryTriggers suggests words that may belong to a category. It reads the values that Contradictions collected.
func CategoryTriggers(s *Snapshot) (out []oplog.TriggerRow) {
	for frame, words := range s.frames {
		members := map[string]int{}
		for w := range words {
			if c := categories[w]; c != "" {
				members[c]++
			}
		}
		for c, n := range members {
			if n < minCategoryWords {
				continue
			}
			for w, seen := range words {
				if categories[w] == "" && seen >= minUnknownUses {
					out = append(out,
						s.Trigger("gossip_expand_category", categoryUrgency, fmt.Sprintf("%q stands where %s stand (%s): is it one of them?", w,
							strings.ReplaceAll(c, "_", " "), strings.TrimSpace(frame)), c+"/"+w))
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b oplog.TriggerRow) int {
		return cmp.Or(cmp.Compare(a.Entity, b.Entity), cmp.Compare(a.Reason, b.Reason))
	})
	return out[:min(len(out), maxPerKind)]
}
