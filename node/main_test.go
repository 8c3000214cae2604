package node

import (
	"os"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

func TestMain(m *testing.M) {
	suite.Checks(8)
	os.Exit(rafttest.Overlap(m, 8))
}
