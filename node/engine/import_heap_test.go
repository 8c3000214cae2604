package engine_test

import (
	"os"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/node/nodetest"
)

// TestImportIsBoundedByBytes: a leader holds no more bytes of imported texts than a node that catches up, however
// fast they arrive.
func TestImportIsBoundedByBytes(t *testing.T) {
	if os.Getenv("CAIRN_TEXTS") == "" {
		t.Skip("no CAIRN_TEXTS: few texts prove nothing here, and many take minutes")
	}
	n, c := startSingle(t)
	s := n.Service()
	words := nodetest.NewProse()
	nodetest.GrowsBy(t, nodetest.IndexingGrows, func() {
		drafts := make([]api.Draft, engine.ImportRows)
		for i := 0; i < nodetest.TextMemories(t); i += len(drafts) {
			for k := range drafts {
				drafts[k] = api.Draft{Text: words.Text(4000), HalfLife: time.Hour.Seconds()}
			}
			if err := s.Remember(t.Context(), c, drafts...); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.WaitIndexed(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
