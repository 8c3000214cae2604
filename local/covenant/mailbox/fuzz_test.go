package mailbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Open rejects or accepts any file. An accepted mailbox works, before and after compaction, and can be opened again.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "events.jsonl")
	b, err := Open(path, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		if err := b.Send(1, Task{ID: id, Sender: "a", Recipient: "b", Cache: id, Body: json.RawMessage(`1`)}, same); err != nil {
			f.Fatal(err)
		}
	}
	if _, err := b.Lease(2, "b", "l", json.RawMessage(`"b"`)); err != nil {
		f.Fatal(err)
	}
	if err := b.Post(3, Result{Task: "1", Final: true, Body: json.RawMessage(`"done"`)}); err != nil {
		f.Fatal(err)
	}
	compactNow(b)
	b.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"op":"leased","id":"9"}` + "\n" + `{"op":"requeued","id":"9"}` + "\n"))
	f.Add([]byte(`{"op":"queued"}` + "\n" + `{"op":"posted"}` + "\n" + `{"op":"finished"}` + "\n" + `{"op":"leased"}` + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		if err := os.WriteFile(path, in, 0o600); err != nil {
			t.Fatal(err)
		}
		for round := range 3 {
			b, err := Open(path, nil)
			if err != nil {
				if round > 0 {
					t.Fatalf("what was taken is refused: %v", err)
				}
				return
			}
			if round == 1 {
				compactNow(b)
			}
			task := Task{ID: "new", Sender: "n", Recipient: "n", Body: json.RawMessage(`1`)}
			if err := b.Send(1, task, same); err != nil && round == 0 {
				b.Close()
				return // the id exists already, or the file is broken
			} else if err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
