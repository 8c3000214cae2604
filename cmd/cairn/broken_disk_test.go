package main

import (
	"bytes"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestADiskThatFails makes system calls of real processes fail while clients write. A member that cannot write or
// sync its log or state must report the error and stop; the others must continue. It must recover once it starts on a
// working disk. A member with a full disk must not stop.
func TestADiskThatFails(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "it waits for elections of three processes, which the race detector slows down")
	nodes, token := configureThree(t, t.TempDir(), shortElection)
	for _, p := range nodes { // snapshots write the state
		change(t, p.Args[3], func(b []byte) []byte {
			return bytes.Replace(b, []byte("[cluster]\n"), []byte("[cluster]\nsnapshot_threshold = 16\nsnapshot_interval_ms = 100\n"), 1)
		})
	}
	startAll(t, nodes, 0, 1, 2)
	d := writeOn(t, nodes, token, 3)
	d.waitForMore("at first")
	for _, tc := range []struct {
		leads            bool
		file, call, says string
	}{
		{false, "raft/log/*.seg", "fdatasync", "the log's disk has failed"},
		{true, "raft/log/*.seg", "pwrite64", "the log's disk has failed"},
		{false, "state/*/MANIFEST-*", "write", "the state's disk has failed"},
		{true, "state/*/MANIFEST-*", "fdatasync,fsync", "the state's disk has failed"},
	} {
		i := leaderOf(t, nodes)
		if !tc.leads {
			i = (i + 1) % 3
		}
		p := nodes[i]
		x := inject(t, p, tc.file, tc.call, "EIO")
		p.ExpectFailure(tc.says, "input/output error")
		x.end()
		d.waitForMore("when " + tc.call + " of " + tc.file + " had failed")
		p.Launch()()
	}
	for _, tc := range []struct{ file, call string }{{"raft/log/*.seg", "pwrite64"}, {"state/*/MANIFEST-*", "write"}} {
		full := nodes[leaderOf(t, nodes)]
		x := inject(t, full, tc.file, tc.call, "ENOSPC")
		x.waitForHits(3)
		d.waitForMore("while there is no room for the leader's " + tc.file)
		x.end()
		d.waitForMore("when there is")
	}
	killNextToBrokenDisk(t, nodes, d)
	d.checkAll(nodes, token)
}

// killNextToBrokenDisk stops one member, so that acknowledged writes are on both others. It breaks the disk of one of
// these and then kills the other. The two remaining members must have every acknowledged write.
func killNextToBrokenDisk(t *testing.T, nodes []*cairntest.Node, d *diary) {
	t.Helper()
	lead := leaderOf(t, nodes)
	away, broken := nodes[(lead+1)%3], nodes[(lead+2)%3]
	away.Kill()
	x := inject(t, broken, "raft/log/*.seg", "pwrite64", "EIO")
	broken.ExpectFailure("the log's disk has failed", "input/output error")
	x.end()
	nodes[lead].Kill()
	upBroken, upAway := broken.Launch(), away.Launch()
	upBroken()
	upAway()
	d.waitForMore("without the one that led")
	nodes[lead].Launch()()
}
