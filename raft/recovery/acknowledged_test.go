package recovery

import (
	"maps"
	"testing"
)

// TestAcknowledgementsGrow: an older place never replaces a newer one.
func TestAcknowledgementsGrow(t *testing.T) {
	t.Parallel()
	var a Acknowledged
	for _, p := range []Place{{2, 10}, {1, 90}, {2, 9}, {3, 4}, {3, 4}, {2, 50}} {
		a.Note(1, p)
	}
	if got, want := a.last, map[uint32]Place{1: {3, 4}}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
