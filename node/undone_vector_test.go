package node_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestAnUndoKeepsNoVectorOfAnotherText checks that, where clients send vectors, an undo removes the vector of the
// corrected text and reports that the memory has none; the client sends one with a correction. The undo of a merge, a
// split or a move restores the vectors of its sources.
func TestAnUndoKeepsNoVectorOfAnotherText(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	axis := func(i int) []float64 { v := make([]float64, 8); v[i] = 1; return v }
	store := func(text string, i int) string {
		return w.ok("POST", "/v1/remember", obj{"text": text, "embedding": axis(i)})["rid"].(string)
	}
	near := func(i int) (rids []string) { // by the vector alone
		for _, row := range objectsIn(w.ok("POST", "/v1/recall", obj{"query": "zzz", "query_embedding": axis(i), "top_k": 10, "skip_reinforce": true}), "results") {
			rids = append(rids, row["rid"].(string))
		}
		slices.Sort(rids)
		return rids
	}
	check := func(when string, i int, want ...string) {
		t.Helper()
		slices.Sort(want)
		if got := near(i); !slices.Equal(got, want) {
			t.Errorf("%s: the vector %d finds %v, want %v", when, i, got, want)
		}
	}
	a := store("Ada drinks tea", 0)
	w.ok("POST", "/v1/correct", obj{"rid": a, "new_text": "Bo plays chess", "reason": "mistaken", "embedding": axis(1)})
	check("corrected", 0)
	check("corrected", 1, a)
	if got := w.ok("POST", "/v1/undo", obj{"rid": a}); got["embedding_missing"] != true {
		t.Errorf("the undo says %v", got)
	}
	check("undone", 0)
	check("undone", 1)
	w.ok("POST", "/v1/correct", obj{"rid": a, "reason": "its vector again", "embedding": axis(0)})
	check("sent again", 0, a)
	w.ok("POST", "/v1/correct", obj{"rid": a, "reason": "more so", "new_importance": 0.9})
	if got := w.ok("POST", "/v1/undo", obj{"rid": a}); got["embedding_missing"] != nil {
		t.Errorf("the undo of another change says %v", got)
	}
	check("another change undone", 0, a)

	b, c := store("Cy rows a boat", 2), store("Cy rows boats", 3)
	for name, change := range map[string]func(){
		"a merge": func() { w.ok("POST", "/v1/merge", obj{"rids": []string{b, c}, "text": "Cy rows"}) },
		"a split": func() { w.ok("POST", "/v1/split", obj{"rid": b, "texts": []string{"Cy rows", "a boat is there"}}) },
		"a move":  func() { w.ok("POST", "/v1/move", obj{"rid": b, "to": "elsewhere"}) },
	} {
		change()
		w.ok("POST", "/v1/undo", obj{"rid": b})
		check(fmt.Sprint(name, " undone"), 2, b)
		check(fmt.Sprint(name, " undone"), 3, c)
	}
}
