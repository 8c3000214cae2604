//go:build full || soak

package main

import (
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestAlikeWithVectors: three nodes answer with the same bits when vectors are made by the nodes.
func TestAlikeWithVectors(t *testing.T) {
	suite.NotShort(t, "three nodes of one process lose their leader under the race detector")
	t.Parallel()
	r := figuresOf[alikeReport](t, "alike", "--size", "600", "--asks", "60", "--embedder", "random")
	if len(r.Checks) != 3 {
		t.Fatalf("got %+v", r)
	}
	for _, c := range r.Checks {
		if c.Alike != r.Questions || r.Questions == 0 {
			t.Errorf("%s: %d of %d; %s", c.Node, c.Alike, r.Questions, c.First)
		}
	}
}
