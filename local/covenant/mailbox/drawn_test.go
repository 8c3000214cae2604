package mailbox

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// do runs a random step, and returns its complete result.
func do(b *Box, r *rand.Rand, now uint64) string {
	who := []string{"a", "b", "c"}
	id, from, to := fmt.Sprint(r.IntN(60)), who[r.IntN(3)], who[r.IntN(3)]
	body := json.RawMessage(fmt.Sprint(r.IntN(3)))
	switch r.IntN(8) {
	case 0, 1:
		again := func(cached json.RawMessage) (json.RawMessage, error) { return append(cached, body...), nil }
		return errText(b.Send(now, Task{ID: id, Sender: from, Recipient: to, Body: body, Cache: []string{"", "x", "y"}[r.IntN(3)]}, again))
	case 2, 3:
		task, err := b.Lease(now, to, "lease of "+id, json.RawMessage(`"`+to+`"`))
		return string(task) + errText(err)
	case 4:
		return errText(b.Post(now, Result{Task: id, Final: r.IntN(2) == 0, Body: body}))
	case 5:
		result, err := b.Take(now, from)
		return string(result) + errText(err)
	case 6:
		return errText(b.Requeue(now, id))
	}
	task, known := b.Task(id)
	said, _ := json.Marshal([]any{task.Sender, task.Recipient, known, b.Results(from, 100), b.Queue(to, func(Entry) bool { return true })}) // these types always encode
	return string(said)
}

// TestDrawnTasksSurvive compares a mailbox that is compacted and reopened at random points with one that is not.
func TestDrawnTasksSurvive(t *testing.T) {
	t.Parallel()
	for seed := range uint64(suite.Count(2, 30, 300)) {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		b, quiet := open(t, path), open(t, filepath.Join(t.TempDir(), "events.jsonl"))
		r := rand.New(rand.NewPCG(seed, 3))
		for now := range uint64(400) {
			step := r.Uint64()
			got, want := do(b, rand.New(rand.NewPCG(seed, step)), now), do(quiet, rand.New(rand.NewPCG(seed, step)), now)
			if got != want {
				t.Fatalf("seed %d, step %d: %s, want %s", seed, now, got, want)
			}
			if r.IntN(10) > 0 {
				continue
			}
			if r.IntN(2) == 0 {
				compactNow(b)
			}
			must(t, b.Close())
			b = open(t, path)
		}
	}
}
