package raft

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestAFollowerTakesMoreThanAFrame: a follower catches up with more records than fit into one frame, and accepts as
// many at once while it follows.
func TestAFollowerTakesMoreThanAFrame(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("ninety megabytes through three logs take a while under the race detector")
	}
	c := startStableLeader(t, 3)
	l := c.leader()
	follower := l.cfg.NodeID % 3
	if err := c.nodes[follower].Close(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewChaCha8([32]byte{1}))
	large := func(n int) (want []string) {
		futures := make([]*Future, n)
		for i := range futures {
			b := make([]byte, 3<<20) // random, so that it does not compress
			for j := range b {
				b[j] = byte(rng.Uint32())
			}
			want = append(want, string(b))
			futures[i] = l.Propose(t.Context(), b)
		}
		for _, f := range futures {
			if _, _, err := f.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		return want
	}
	want := large(30)
	c.reopen(int(follower), "secret", slices.Delete(slices.Clone(c.addrs), int(follower), int(follower)+1))
	c.wait("the follower to have what it missed", func() bool { return slices.Equal(c.sms[follower].items(), want) })
	want = append(want, large(10)...)
	c.wait("the follower to keep up", func() bool { return slices.Equal(c.sms[follower].items(), want) })
}
