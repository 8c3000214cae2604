//go:build soak

package agents

import (
	"testing"
	"time"
)

// TestHookIsQuickWithoutANode: the fastest of a few runs takes at most 50 ms. Slower runs are attributed to a busy
// machine.
func TestHookIsQuickWithoutANode(t *testing.T) {
	away(t, "claude")
	best := time.Hour
	for range 10 {
		begin := time.Now()
		if err := useAway(t.Context(), t.TempDir()); err == nil {
			t.Fatal("a node answered")
		}
		best = min(best, time.Since(begin))
	}
	if best > 50*time.Millisecond {
		t.Errorf("a hook takes %s", best)
	}
}
