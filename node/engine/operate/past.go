package operate

import (
	"cmp"
	"context"
	"math"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/past"
)

// Recent counts events since the last sample of the node's past. The engine counts requests of all surfaces.
type Recent struct {
	Requests, Commits past.Times
	Refused           atomic.Uint64
}

// Sample is the task that takes samples for this node's past.
func (cl *Cluster) Sample(ctx context.Context) error {
	lastTime, lastApplied := time.Now(), cl.cfg.Commit.Applied()
	return cl.lastDay.Run(ctx, func() past.Values {
		seconds, applied := float32(max(time.Since(lastTime).Seconds(), 1e-3)), cl.cfg.Commit.Applied()
		n, took := cl.Recent.Requests.Read(0.5, 0.99)
		_, commits := cl.Recent.Commits.Read(0.5)
		v := past.Values{past.Requests: float32(n) / seconds, past.Refused: float32(cl.Recent.Refused.Swap(0)) / seconds,
			past.Writes: float32(applied-min(applied, lastApplied)) / seconds,
			past.Median: took[0], past.Slowest: took[1], past.Commit: commits[0], past.Lag: float32(math.NaN()),
			past.Unfound: float32(applied - min(applied, cl.cfg.Commit.Indexed())),
			past.Disk:    float32(cl.cfg.State.Size()), past.Heap: heapInUse()}
		if lag := cl.LagEntries(); lag != nil {
			v[past.Lag] = float32(*lag)
		}
		lastTime, lastApplied = time.Now(), applied
		return v
	}, func() past.Standing {
		leader, _ := cl.cfg.Commit.Leader()
		return past.Standing{Term: cl.raft.Term(), Leader: leader}
	})
}

func heapInUse() float32 {
	all := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(all)
	return float32(all[0].Value.Uint64())
}

// Past returns the past of all nodes.
func (cl *Cluster) Past(ctx context.Context, c api.Caller, q *api.PastRequest) (*api.PastAnswer, error) {
	q.Minutes, q.Points = min(q.Minutes, int(past.Kept/time.Minute)), min(q.Points, past.Samples)
	a := &api.PastAnswer{Nodes: []api.NodePast{cl.ownPast(q)}}
	if !q.Here && !c.Asked {
		for id, got := range cl.cfg.OthersPast(ctx, c, &api.PastRequest{Minutes: q.Minutes, Points: q.Points, Here: true}) {
			if got == nil || len(got.Nodes) != 1 {
				got = &api.PastAnswer{Nodes: []api.NodePast{{NodeID: id, Error: "did not answer", At: []float64{},
					Marks: []api.PastMark{}}}}
			}
			a.Nodes = append(a.Nodes, got.Nodes[0])
		}
	}
	slices.SortFunc(a.Nodes, func(a, b api.NodePast) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return a, nil
}

func (cl *Cluster) ownPast(q *api.PastRequest) api.NodePast {
	samples := cl.lastDay.Since(time.Now().Add(-time.Duration(q.Minutes)*time.Minute), q.Points)
	n := api.NodePast{NodeID: cl.cfg.Member.NodeID, At: api.Each(samples.At, func(at int64) float64 { return float64(at) }),
		Marks: api.Each(samples.Marks, func(m past.Mark) api.PastMark {
			return api.PastMark{At: float64(m.At.UnixMilli()) / 1000, Kind: m.Kind, Term: m.Term, Leader: m.Leader}
		})}
	for column, series := range map[past.Column]*[]*float64{past.Requests: &n.Requests, past.Refused: &n.Refused,
		past.Writes: &n.Writes, past.Median: &n.Median, past.Slowest: &n.Slowest,
		past.Commit: &n.Commit, past.Lag: &n.Lag, past.Unfound: &n.Unfound, past.Disk: &n.Disk, past.Heap: &n.Heap} {
		*series = api.Each(samples.Values, func(v past.Values) *float64 {
			if x := float64(v[column]); !math.IsNaN(x) {
				return &x
			}
			return nil
		})
	}
	return n
}
