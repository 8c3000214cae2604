package process_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestFilesOfEverySize: the answer for a file equals the encoding of the whole file, whatever bytes it holds and
// wherever its pieces end.
func TestFilesOfEverySize(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	path := filepath.Join(t.TempDir(), "f")
	for name, unit := range map[string]string{"ascii": "abcdefg\n", "wide": "aé€😀", "escaped": "<&>\u2028\x00\"",
		"broken": "\xf0\x9f\x98\xe2\x82a\xff"} {
		for _, size := range []int{0, 1, 32 << 10, 32<<10 + 1, 256<<10 + 32<<10, 256<<10 + 32<<10 + 2, 1_000_003} {
			content := strings.Repeat(unit, size/len(unit)+1)[:size]
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(map[string]any{"content": content, "exists": true})
			if err != nil {
				t.Fatal(err)
			}
			got := p.call("files.read", map[string]any{"path": path})
			if !bytes.Equal([]byte(got), want) {
				t.Errorf("%s, %d bytes: %d bytes of JSON, want %d", name, size, len(got), len(want))
			}
		}
	}
}

// Answers with large files that clients do not read use little memory, and do not delay other clients. When the
// clients read them, the files are complete.
func TestFilesThatNobodyTakes(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: weighs a process")
	}
	socket, _ := listen(t)
	path := filepath.Join(t.TempDir(), "big")
	content := bytes.Repeat([]byte("0123456789abcdef"), 4<<20) // 64 MiB
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	before := liveMiB()
	lazy := make([]*peer, 8)
	for i := range lazy {
		lazy[i] = connect(t, socket)
		for range 16 {
			lazy[i].ask("files.read", map[string]any{"path": path})
		}
		lazy[i].ask("server.ping", nil)
	}
	other := connect(t, socket)
	for range 100 {
		if got := other.call("server.ping", nil); got != `{"pong":true}` {
			t.Fatal(got)
		}
	}
	first := make([]byte, 200)
	for _, p := range lazy { // each client is in the middle of an answer
		if _, err := p.nc.Read(first); err != nil {
			t.Fatal(err)
		}
	}
	weigh(t, before, 64) // of 8 GiB of answers
	p := connect(t, socket)
	want := fmt.Sprintf(`{"content":"%s","exists":true}`, content)
	if got := p.call("files.read", map[string]any{"path": path}); got != want {
		t.Errorf("%d bytes of JSON, want %d", len(got), len(want))
	}
	for _, p := range lazy {
		p.nc.Close()
	}
	if got := p.call("server.ping", nil); got != `{"pong":true}` {
		t.Fatal(got)
	}
}
