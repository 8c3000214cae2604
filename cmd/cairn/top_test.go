package main

import (
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestTopOnce prints a frame of a real node as text and as JSON.
func TestTopOnce(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	_, home := cairntest.StartDev(t)
	if out, code := cairntest.Run(t, "top", "--once", "--interval", "100ms", "--home", home); code != 0 ||
		!strings.Contains(out, "WRITES/S") || !strings.Contains(out, "healthy") || !strings.Contains(out, "Leader") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	f, code := cairntest.RunForJSON[struct {
		Nodes []struct {
			DiskFree float64 `json:"disk_free_bytes"`
			State    string
		}
	}](t, "top", "--json", "--interval", "100ms", "--home", home)
	if code != 0 || len(f.Nodes) != 1 || f.Nodes[0].DiskFree <= 0 || f.Nodes[0].State != "Leader" {
		t.Errorf("exit %d: %+v", code, f)
	}
}
