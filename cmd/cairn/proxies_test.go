package main

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// behindProxies starts three nodes that know only the proxies' addresses of each other.
func behindProxies(t *testing.T) (*links, []*cairntest.Node, string) {
	t.Helper()
	l := newLinks(t, 3)
	nodes, token := configureThree(t, shortDir(t), func(n *config.NodeFile) { shortElection(n); l.rewriteConfig(n) })
	startAll(t, nodes, 0, 1, 2)
	return l, nodes, token
}

// TestMembersBehindProxies connects real processes only through proxies, which simulate network faults in turn, while
// clients write. As long as a majority is connected the writes must continue, and in the end every node must have the
// same state with every acknowledged write once.
func TestMembersBehindProxies(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "it waits for elections of three processes, which the race detector slows down")
	l, nodes, token := behindProxies(t)
	d := writeOn(t, nodes, token, 3)
	d.waitForMore("at first")
	for _, tc := range []struct {
		while string
		fault fault
		times int // minimum number of effects of the fault
		put   func(f fault, lead, other, third int)
	}{
		{"while no follower hears the leader", stalled, 1, func(f fault, lead, other, third int) { l.set(f, lead, other, third) }},
		{"while the leader hears no follower", stalled, 1,
			func(f fault, lead, other, third int) { l.set(f, other, lead); l.set(f, third, lead) }},
		{"while a follower hears no member", stalled, 1,
			func(f fault, lead, other, third int) { l.set(f, lead, other); l.set(f, third, other) }},
		{"while the leader can call no follower", cut, 1, func(f fault, lead, other, third int) { l.set(f, lead, other, third) }},
		{"while leader and follower are cut from each other", cut, 1,
			func(f fault, lead, other, _ int) { l.set(f, lead, other); l.set(f, other, lead) }},
		{"while all is late", late, 20, func(f fault, _, _, _ int) { l.all(f) }},
		{"while frames break in the middle", torn, 10, func(f fault, _, _, _ int) { l.all(f) }},
		{"while bits of frames are flipped", flips, 10, func(f fault, _, _, _ int) { l.all(f) }},
		{"while bytes come one by one", drips, 20, func(f fault, _, _, _ int) { l.all(f) }},
	} {
		lead, before := leaderOf(t, nodes), l.hits(tc.fault)
		tc.put(tc.fault, lead, (lead+1)%3, (lead+2)%3)
		l.waitFor(tc.fault, before+tc.times)
		d.waitForMore(tc.while)
		l.all(passes)
		d.waitForMore("after that")
	}
	nothingAcknowledged(t, l, nodes, token)
	for range suite.Count(1, 3, 300) { // writes may fail while the fault lasts
		for from := range 3 {
			for _, to := range l.others(from) {
				l.set(fault(rand.IntN(int(faultKinds))), from, to)
			}
		}
		sleep(t.Context(), time.Duration(rand.IntN(1500))*time.Millisecond)
		l.all(passes)
		d.waitForMore("after any faults")
	}
	d.checkAll(nodes, token)
}

// nothingAcknowledged cuts every link and checks that no later write is acknowledged.
func nothingAcknowledged(t *testing.T, l *links, nodes []*cairntest.Node, token string) {
	t.Helper()
	c := connect(t, nodes, token)
	l.all(stalled)
	defer l.all(passes)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if rid, err := c.Remember(ctx, wire.NewRemember("nobody hears of this")); err == nil {
		t.Errorf("%s was acknowledged by a node that reaches no other", rid)
	}
}
