package rank

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestRID: ids survive packing, and are in the order of their strings.
func TestRID(t *testing.T) {
	ids := []string{"", "a", "m00017", "0190aaaa-0000-7000-8000-00000000000", "0190AAAA-0000-7000-8000-000000000001",
		"urn:uuid:0190aaaa-0000-7000-8000-000000000001",
		"{0190aaaa-0000-7000-8000-000000000001}", "0190aaaa000070008000000000000001", "00000000-0000-0000-0000-000000000000",
		"ffffffff-ffff-ffff-ffff-ffffffffffff"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var u uuid.UUID
		for i := range u {
			u[i] = byte(rng.UintN(256))
		}
		ids = append(ids, u.String(), u.String()[:35]+"0")
	}
	for _, a := range ids {
		if got := MakeRID(a).String(); got != a {
			t.Errorf("%q comes out as %q", a, got)
		}
		for _, b := range ids {
			if got, want := MakeRID(a).Compare(MakeRID(b)), strings.Compare(a, b); got != want {
				t.Errorf("%q and %q are %d, want %d", a, b, got, want)
			}
		}
	}
	if r := MakeRID("0190aaaa-0000-7000-8000-000000000001"); r.other != nil {
		t.Error("a UUID takes a string")
	}
}
