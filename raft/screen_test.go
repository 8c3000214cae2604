package raft

import (
	"bytes"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog"
)

// TestARecordTakesATurnByItsDecodedSize: a record that a peer sends is checked in a turn if it is large once it is
// decompressed, however small its frame is.
func TestARecordTakesATurnByItsDecodedSize(t *testing.T) {
	t.Parallel()
	for want, body := range []string{"short", string(bytes.Repeat([]byte("lighthouse "), 1<<16))} {
		var n *Node
		turns := -1
		n = newNode(Config{Check: func([]byte) error {
			turns = len(n.largeFrames)
			return nil
		}}.withDefaults(), nil)
		defer n.cancel()
		rec := oplog.EncodeRecord(oplog.MakeHLC(1, 2, 3), []byte(body))
		if err := n.checkRecord(&hraft.Log{Index: 1, Type: hraft.LogCommand, Data: rec}); err != nil || turns != want {
			t.Errorf("a record of %d bytes, decoded %d: %d turns, want %d, %v", len(rec), len(body), turns, want, err)
		}
	}
}
