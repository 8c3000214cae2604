package surface

import (
	"slices"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/config"
)

// TestEverySurfaceCanBeTurnedOff: [local] disable knows the name of each, in their order, and no other.
func TestEverySurfaceCanBeTurnedOff(t *testing.T) {
	var names []string
	for _, s := range surfaces {
		names = append(names, s.name)
	}
	if !slices.Equal(names, config.Surfaces) {
		t.Errorf("disable knows %q, the surfaces are %q", config.Surfaces, names)
	}
}
