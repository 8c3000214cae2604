package index

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMoved: added numbers are in their place once, and removed numbers are gone, wherever they were.
func TestMoved(t *testing.T) {
	t.Parallel()
	numbers := rapid.SliceOf(rapid.Uint64Range(0, 30))
	rapid.Check(t, func(t *rapid.T) {
		members, joined, left := numbers.Draw(t, "line"), numbers.Draw(t, "came"), numbers.Draw(t, "left")
		slices.Sort(members)
		members = slices.Compact(members)
		left = slices.DeleteFunc(left, func(n uint64) bool { return slices.Contains(joined, n) }) // settle sees to it
		want := slices.DeleteFunc(slices.Concat(members, joined), func(n uint64) bool { return slices.Contains(left, n) })
		slices.Sort(want)
		want = slices.Compact(want)
		if got := applyMoves(slices.Clone(members), joined, left); !slices.Equal(got, want) {
			t.Fatalf("%v with %v without %v: %v, want %v", members, joined, left, got, want)
		}
	})
}
