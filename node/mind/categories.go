package mind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// The lists of categories (words.go) are fixed. A word that several memories use where others use words of one category
// probably belongs to that category: a trigger reports it, and no list changes by itself.
const (
	maxFrames   = 10_000
	familiar    = 3 // words of a category that make an attribute its own
	unfamiliar  = 2 // memories that use another word there
	growUrgency = .3
)

// noteFrame notes a fact whose value is one word, by its attribute without what it is for.
func (s *Snapshot) noteFrame(f *fact) {
	word := strings.ToLower(f.shown)
	if f.denied || strings.ContainsRune(word, ' ') || !isUpper(f.shown) && categories[word] == "" || temporal(word) || hasNumber(word) {
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

// Growth is about words that may belong to a category. It reads what Contradictions saw.
func Growth(s *Snapshot) (out []oplog.TriggerRow) {
	for frame, words := range s.frames {
		members := map[string]int{}
		for w := range words {
			if c := categories[w]; c != "" {
				members[c]++
			}
		}
		for c, n := range members {
			if n < familiar {
				continue
			}
			for w, seen := range words {
				if categories[w] == "" && seen >= unfamiliar {
					out = append(out,
						s.Trigger("gossip_expand_category", growUrgency, fmt.Sprintf("%q stands where %s stand (%s): is it one of them?", w,
							strings.ReplaceAll(c, "_", " "), strings.TrimSpace(frame)), c+"/"+w))
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b oplog.TriggerRow) int {
		return cmp.Or(cmp.Compare(a.Entity, b.Entity), cmp.Compare(a.Reason, b.Reason))
	})
	return out[:min(len(out), maxOf)]
}
