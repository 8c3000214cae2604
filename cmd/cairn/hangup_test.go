package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAHangUpStopsANode: a node whose terminal is closed stops as after SIGTERM.
func TestAHangUpStopsANode(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	// A process that is started with SIGHUP ignored, as below nohup, goes on ignoring it: this one and its nodes shall not.
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
