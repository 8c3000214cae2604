package status

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

func TestStatusForAPerson(t *testing.T) {
	leader, two := uint32(2), uint64(2)
	vitals := func(at oplog.Index, sum, version string, up float64, left api.Leftovers, found ...api.Damage) api.Vitals {
		return api.Vitals{Applied: at, SumIndex: at, Sum: sum, Version: version, UptimeSecs: up, Leftovers: left, Damaged: found}
	}
	files := []api.Damage{{Kind: "state", File: "state/1/000004.sst", Times: 2, Heals: "restart it"},
		{Kind: "state", File: "state/1/000007.sst", Times: 1, Heals: "restart it"},
		{Kind: "index", Database: "garden", File: "index/2-1/text/000000000001.zap", Times: 1, Healed: true, Heals: "check the disk"}}
	s := api.ClusterStatus{Clustered: true, NodeID: 1, Role: "Follower", Voter: true, CurrentTerm: 3, LeaderID: &leader,
		Healthy: true, Condition: "degraded: node 3 unreachable", QuorumSize: 2, Cluster: "c1",
		Wire: "a:1", Commit: 12, Lag: &two,
		Vitals: vitals(10, "0123456789", "v1", 61.5, api.Leftovers{SetAside: []string{"state.corrupt-1", "raft.corrupt-1"}}),
		Store:  api.Store{Bytes: 12_345_678, Tables: 9, Unmerged: 3_000_000},
		Peers: []api.Peer{
			{Store: &api.Store{Bytes: 1e6, Tables: 2, Damaged: 3}, NodeID: 2, Wire: "b:1", State: "Leader", Voter: true,
				Reachable: true, LagEntries: new(uint64), Vitals: vitals(12, "abcdef", "v1", 3, api.Leftovers{HoldPurge: true}, files...)},
			{NodeID: 3, Voter: true},
			{NodeID: 4, Wire: "d:1", State: "Follower", Reachable: true, LagEntries: &two,
				Vitals: vitals(10, "0123456789", "v1", 3, api.Leftovers{})},
			{NodeID: 5, Wire: "e:1", State: "Follower", Reachable: true, LagEntries: &two,
				Vitals: vitals(10, "different", "v2", 3, api.Leftovers{})},
		}}
	var out bytes.Buffer
	if err := printStatus(&out, s); err != nil {
		t.Fatal(err)
	}
	want := `cluster c1  degraded: node 3 unreachable
leader node 2  term 3  quorum 2 of 3
node 1  moved files aside that were damaged or differ from a majority's: state.corrupt-1, raft.corrupt-1
        keep them until every member is healthy, then remove them (runbooks damaged-state.md, divergence.md)
node 2  its files may hold purged text until it has rewritten them (runbook erase.md)
node 2  found damage in its state: state/1/000004.sst (2 times), state/1/000007.sst (once)
        restart it
node 2  found damage in its index of database garden: index/2-1/text/000000000001.zap (once)
        check the disk

NODE  ROLE                REACHABLE  APPLIED  LAG  STATE       WIRE  VERSION  UP
1 *   Follower            yes        10       2    01234567    a:1   v1       1m1s
2     Leader              yes        12       0    at 12       b:1   v1       3s
3     -                   NO         -        -    -           -     -        -
4     Follower (replica)  yes        10       2    01234567 =  d:1   v1       3s
5     Follower (replica)  yes        10       2    DIVERGED    e:1   v2       3s

NODE  DISK     TABLES  BEHIND  DAMAGED
1 *   12.3 MB  9       3.0 MB  0
2     1.0 MB   2       0.0 MB  3
3     -        -       -       -
4     -        -       -       -
5     -        -       -       -
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	s.NodeID = 9 // rows are in the order of ids, whichever node answers
	out.Reset()
	if err := printStatus(&out, s); err != nil || strings.Index(out.String(), "\n9 *") < strings.Index(out.String(), "\n5 ") {
		t.Errorf("%v: got\n%s", err, &out)
	}
}
