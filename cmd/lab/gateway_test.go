//go:build full || soak

package main

import (
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// measureGateway runs the gateway bench with a few memories.
func measureGateway(t *testing.T) gatewayReport {
	t.Helper()
	return figuresOf[gatewayReport](t, "gateway", "--fill", "500", "--questions", "100", "--streams", "200")
}

// TestGateway: every transport answers, and an idle event stream takes less than 50 kB.
func TestGateway(t *testing.T) {
	t.Parallel()
	suite.NotShort(t, "nothing is measured")
	r := measureGateway(t)
	if len(r.Runs) != 3 || r.Runs[0].P50 <= 0 || r.PerStream <= 0 || r.PerStream >= 50_000 {
		t.Errorf("measured %+v", r)
	}
}
