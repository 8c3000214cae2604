package mailbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

// An encrypted mailbox works like a plain one, across restarts and compaction, and cannot be read.
func TestSealedMailbox(t *testing.T) {
	path, keys := filepath.Join(t.TempDir(), "events.jsonl"), seal.Ephemeral([]seal.Master{seal.NewMaster()})
	reopen := func() *Box {
		b, err := Open(path, keys)
		must(t, err)
		t.Cleanup(func() { b.Close() })
		return b
	}
	b := reopen()
	must(t, b.Send(1, Task{ID: "1", Sender: "a", Recipient: "b", Body: json.RawMessage(`{"id":"planted"}`)}, same))
	must(t, b.Close())
	b = reopen()
	compactNow(b)
	if got, err := b.Lease(2, "b", "l1", json.RawMessage(`"b"`)); err != nil || string(got) != `{"id":"planted"}` {
		t.Fatalf("%s, %v", got, err)
	}
	must(t, b.Post(3, Result{Task: "1", Final: true, Body: json.RawMessage(`{"r":"planted"}`)}))
	must(t, b.Close())
	b = reopen()
	if got, err := b.Take(4, "a"); err != nil || !strings.Contains(string(got), "planted") {
		t.Errorf("%s, %v", got, err)
	}
	must(t, b.Close())
	raw, err := os.ReadFile(path)
	must(t, err)
	if bytes.Contains(raw, []byte("planted")) || bytes.Contains(raw, []byte("queued")) {
		t.Error("readable")
	}
	raw[20] ^= 1
	must(t, os.WriteFile(path, raw, 0o600))
	if _, err := Open(path, keys); !errors.Is(err, seal.ErrDamaged) {
		t.Errorf("a changed line: %v", err)
	}
}
