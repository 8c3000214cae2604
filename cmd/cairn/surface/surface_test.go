package surface

import (
	"slices"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/config"
)

// TestEverySurfaceCanBeTurnedOff: the valid names of [local] disable are exactly the surfaces, in order.
func TestEverySurfaceCanBeTurnedOff(t *testing.T) {
	var names []string
	for _, s := range surfaces {
		names = append(names, s.name)
	}
	if !slices.Equal(names, config.Surfaces) {
		t.Errorf("disable knows %q, the surfaces are %q", config.Surfaces, names)
	}
}
