package main

import (
	"syscall"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAHangUpStopsANode: a node whose terminal is closed stops as after SIGTERM.
func TestAHangUpStopsANode(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p, _ := cairntest.StartDev(t)
	p.Signal(syscall.SIGHUP)
	if err := p.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.Log)
	}
	p.Cmd = nil
}
