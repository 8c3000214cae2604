//go:build full || soak

package bench

import (
	"encoding/json"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// measureGateway is what `cairn bench gateway` finds on a few memories.
func measureGateway(t *testing.T) (r gatewayReport) {
	t.Helper()
	out, code := cairntest.Run(t, "bench", "gateway", "--fill", "500", "--questions", "100", "--streams", "200", "--json")
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	return r
}

// TestBenchGateway: every way of asking answers, and an idle event stream costs less than 50 kB.
func TestBenchGateway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: nothing is measured")
	}
	r := measureGateway(t)
	if len(r.Runs) != 3 || r.Runs[0].P50 <= 0 || r.PerStream <= 0 || r.PerStream >= 50_000 {
		t.Errorf("measured %+v", r)
	}
}
