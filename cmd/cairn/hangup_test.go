package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAHangUpStopsANode checks that a node stops as after SIGTERM if its terminal is closed.
func TestAHangUpStopsANode(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	// Below nohup this process ignores SIGHUP, and its nodes would too. A handler here makes them start with the default.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	p, _ := cairntest.StartDev(t)
	p.Signal(syscall.SIGHUP)
	if err := p.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.Log)
	}
	p.Cmd = nil
}
