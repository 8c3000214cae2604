package mailbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, path string) *Box {
	t.Helper()
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var same = func(b json.RawMessage) (json.RawMessage, error) { return b, nil }

// TestEveryCutOfTheFile opens the log as it is after each byte: what was answered before stays so.
func TestEveryCutOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	b := open(t, path)
	for _, id := range []string{"1", "2"} {
		must(t, b.Send(1, Task{ID: id, Sender: "a", Recipient: "b", Body: json.RawMessage(`{"id":` + id + `}`)}, same))
	}
	if got, err := b.Lease(2, "b", "l1", json.RawMessage(`"b"`)); err != nil || string(got) != `{"id":1}` {
		t.Fatalf("%s, %v", got, err)
	}
	must(t, b.Post(3, Result{Task: "1", Final: true, Body: json.RawMessage(`"done"`)}))
	if got, err := b.Take(4, "a"); err != nil || string(got) != `"done"` {
		t.Fatalf("%s, %v", got, err)
	}
	must(t, b.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	for cut := range len(whole) + 1 {
		must(t, os.WriteFile(path, whole[:cut], 0o600))
		b := open(t, path)
		n := bytes.Count(whole[:cut], []byte("\n"))
		var states []string
		for _, e := range b.Queue("b", func(Entry) bool { return true }) {
			state := "queued"
			if e.Lease != nil {
				state = "leased"
			}
			states = append(states, e.ID+" "+state)
		}
		want := [][]string{nil, {"1 queued"}, {"1 queued", "2 queued"}, {"2 queued", "1 leased"}, {"2 queued"}, {"2 queued"}}[n]
		if len(states) != len(want) {
			t.Fatalf("cut at %d: %v, want %v", cut, states, want)
		}
		for i := range want {
			if states[i] != want[i] {
				t.Fatalf("cut at %d: %v, want %v", cut, states, want)
			}
		}
		if got, want := len(b.Results("a", 10)), map[bool]int{true: 1}[n == 4]; got != want {
			t.Fatalf("cut at %d: %d results wait, want %d", cut, got, want)
		}
		must(t, b.Send(5, Task{ID: "3", Sender: "a", Recipient: "b", Body: json.RawMessage(`3`)}, same)) // the end is clean
		must(t, b.Close())
	}
}

func TestRefusals(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "events.jsonl"))
	task := Task{ID: "1", Sender: "a", Recipient: "b", Body: json.RawMessage(`1`)}
	must(t, b.Send(1, task, same))
	must(t, b.Send(1, task, same))
	task.Body = json.RawMessage(`2`)
	for _, c := range []struct{ got, want error }{
		{b.Send(1, task, same), ErrDuplicate},
		{b.Post(1, Result{Task: "9"}), ErrUnknown},
		{b.Post(1, Result{Task: "1", Final: true}), ErrNotLeased},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
	b.Lease(1, "b", "l", json.RawMessage(`"b"`))
	must(t, b.Post(1, Result{Task: "1", Body: json.RawMessage(`"some"`)}))
	must(t, b.Post(1, Result{Task: "1", Final: true, Body: json.RawMessage(`"all"`)}))
	if err := b.Post(1, Result{Task: "1", Final: true}); !errors.Is(err, ErrFinal) {
		t.Errorf("%v", err)
	}
	must(t, b.Close())
	if _, err := b.Lease(1, "b", "l", nil); err != nil {
		t.Errorf("an empty queue needs no file: %v", err)
	}
	if err := b.Send(1, Task{ID: "2", Body: json.RawMessage(`1`)}, same); err == nil {
		t.Error("a closed mailbox took a task")
	}
}
