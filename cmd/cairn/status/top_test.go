package status

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// TestAFrameIsWhatHappenedBetweenTwoLooks: rates and latencies are computed from increases of counters. They are
// unknown for a node that does not answer, and correct after a restart.
func TestAFrameIsWhatHappenedBetweenTwoLooks(t *testing.T) {
	read := func(text string) readings {
		m, err := cli.ReadMetrics(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return readings(m)
	}
	stage := func(fast, all string) string {
		return `# HELP cairn_stage_seconds x
cairn_stage_seconds_bucket{stage="commit",le="0.005"} ` + fast + `
cairn_stage_seconds_bucket{stage="commit",le="0.25"} ` + all + `
cairn_stage_seconds_bucket{stage="commit",le="+Inf"} ` + all + `
cairn_stage_seconds_count{stage="commit"} ` + all + "\ncairn_stage_busy_seconds_total{stage=\"log\"} 1\ncairn_stage_busy_seconds_total{stage=\"apply\"} " + fast + "\ncairn_disk_free_bytes 2e+06\ncairn_apply_lag_entries NaN\n"
	}
	start := time.Now()
	cluster := api.ClusterStatus{NodeID: 1, Role: "Leader", Condition: "healthy",
		Peers: []api.Peer{{NodeID: 2, State: "Follower", Reachable: true}, {NodeID: 3, State: "unreachable"}}}
	then := sample{at: start, cluster: cluster, metrics: map[uint32]readings{1: read(stage("100", "200")), 2: read(stage("900", "1000"))}}
	now := sample{at: start.Add(2 * time.Second), cluster: cluster,
		metrics: map[uint32]readings{1: read(stage("190", "300")), 2: read(stage("3", "4"))}}
	f := now.frameSince(then)
	one, two, three := f.Nodes[0], f.Nodes[1], f.Nodes[2]
	if one.Writes != 50 || one.WriteP50 != 5 || one.WriteP99 != 250 || one.DiskFree != 2e6 || one.Recalls != 0 {
		t.Errorf("node 1: %+v", one)
	}
	if step, share := one.Busy.busiest(); step != "apply" || share != 45 || one.Busy.Log != 0 {
		t.Errorf("node 1 was busy: %+v", one.Busy)
	}
	if two.Writes != 2 || two.WriteP99 != 250 { // it has started again
		t.Errorf("node 2: %+v", two)
	}
	if !math.IsNaN(float64(three.Writes)) || !math.IsNaN(float64(one.Lag)) || !math.IsNaN(float64(one.RecallP50)) {
		t.Errorf("made up: %+v, %+v", three, one)
	}
	if b, err := one.Lag.MarshalJSON(); err != nil || string(b) != "null" {
		t.Errorf("%s, %v", b, err)
	}
	if b, err := number(18871234560).MarshalJSON(); err != nil || string(b) != "18871234560" {
		t.Errorf("bytes as %s, %v", b, err)
	}
	f.sortRows(2, false) // the column of writes
	if f.Nodes[0].NodeID != 1 || f.Nodes[1].NodeID != 2 {
		t.Errorf("sorted by writes: %+v", f.Nodes)
	}
	var out strings.Builder
	if err := f.print(&out, 2); err != nil || !strings.Contains(out.String(), "WRITES/S*") ||
		!strings.Contains(out.String(), "3     unreachable  -") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}
