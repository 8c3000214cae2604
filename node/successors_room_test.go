package node_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestSuccessorsHaveNoRoomOfTheirOwn checks that an answer with memories that come in because they superseded its
// matches has no more than 16 MiB of them, and says how many rows it leaves out; and that an answer that is full
// leaves out none, whatever a deeper search for it read.
func TestSuccessorsHaveNoRoomOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	const people = 20
	large, batch := strings.Repeat("x", 1e6), make([]obj, people)
	for i := range batch {
		batch[i] = obj{"text": fmt.Sprintf("Person%d works at Acme.", i)}
	}
	w.ok("POST", "/v1/remember/batch", obj{"memories": batch})
	for i := range people {
		w.ok("POST", "/v1/remember", obj{"text": fmt.Sprintf("Person%d works at Globex.", i), "metadata": obj{"x": large}})
	}
	for question, top := range map[string]int{"Acme": people, "Globex": people, "Person3 Globex": 5} {
		a := w.ok("POST", "/v1/recall", obj{"query": question, "top_k": top, "min_score": 0})
		rows, left := len(a["results"].([]any)), 0.
		if a["left_out"] != nil {
			left = a["left_out"].(float64)
		}
		if want := min(top, 16); rows != want || left != float64(top-want) {
			t.Errorf("%s: %d rows, and %g left out", question, rows, left)
		}
	}
}
