package node

import (
	"os"
	"testing"

	"github.com/cairndb/cairn/raft/rafttest"
)

func TestMain(m *testing.M) { os.Exit(rafttest.Overlap(m, 8)) }
