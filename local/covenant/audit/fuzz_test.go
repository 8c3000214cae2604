package audit

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// For any content of the two files, Verify returns a report or an error. If a log opens and appends, the new rows are
// valid after the rows that it found valid.
func FuzzFiles(f *testing.F) {
	f.Add([]byte(vectorEvents), []byte(""))
	f.Add([]byte("{}\n{}\n"), []byte(`{"index":0}`+"\n"))
	f.Add([]byte("\xff\n\n\n"), []byte("\n"))
	f.Fuzz(func(t *testing.T, events, chain []byte) {
		dir := t.TempDir()
		for name, b := range map[string][]byte{"events.jsonl": events, "events.chain.jsonl": chain} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l, err := Open(dir, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			return
		}
		defer l.Close()
		before, err := l.Verify()
		if err != nil {
			return
		}
		if l.Append("id", time.UnixMilli(1), map[string]string{"a": "b"}, map[string]string{"type": "t"}) != nil {
			return
		}
		if after, err := l.Verify(); err != nil || before.Valid && !after.Valid {
			t.Fatalf("valid before (%+v), not after (%+v, %v)", before, after, err)
		}
	})
}
