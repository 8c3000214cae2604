package serve

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestHeapFloor: the ballast raises the heap size at which the collector runs, until it is released.
func TestHeapFloor(t *testing.T) {
	suite.Full(t)
	goal := func() uint64 {
		runtime.GC()
		runtime.GC() // the second collection sweeps what the first has found
		s := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	before := goal()
	release := holdHeapFloor()
	if got := goal(); got < before+heapFloor {
		t.Errorf("it runs at %d MiB, and at %d before", got>>20, before>>20)
	}
	release()
	if got := goal(); got > before+heapFloor {
		t.Errorf("without the floor it runs at %d MiB, and %d before", got>>20, before>>20)
	}
}
