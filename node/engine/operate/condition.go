package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
)

// How a cluster is, in one word and why, the same on every surface: "healthy", "degraded: node 3 unreachable",
// "not healthy: no quorum, node 2 and node 3 unreachable". A degraded cluster takes writes.
const (
	healthy   = "healthy"
	degraded  = "degraded"
	unhealthy = "not healthy"
)

// Conditions are the words.
var Conditions = []string{healthy, degraded, unhealthy}

// Condition derives the word and its reason from a status.
func condition(st api.ClusterStatus) (word, why string) {
	var gone []string
	for _, p := range st.Peers {
		if !p.Reachable {
			gone = append(gone, fmt.Sprintf("node %d", p.NodeID))
		}
	}
	away := strings.Join(gone, " and ") + " unreachable"
	if len(gone) > 2 {
		away = strings.Join(gone[:len(gone)-1], ", ") + " and " + gone[len(gone)-1] + " unreachable"
	}
	all := st.Members()
	full := slices.IndexFunc(all, func(p api.Peer) bool { return p.DiskFull })
	switch {
	case st.Removed:
		return unhealthy, fmt.Sprintf("node %d is not a member of the cluster", st.NodeID)
	case !quorate(st):
		return unhealthy, "no quorum, " + away
	case st.LeaderID == nil:
		return unhealthy, "no leader"
	case st.Agreement == "diverged":
		return degraded, "states differ"
	case full >= 0:
		return degraded, fmt.Sprintf("disk of node %d full, it refuses writes", all[full].NodeID)
	case len(gone) > 0:
		return degraded, away
	}
	for _, p := range all {
		if len(p.Disputes) > 0 {
			return degraded, fmt.Sprintf("node %d disputes what node %d says", p.NodeID, p.Disputes[0].Peer)
		}
	}
	for _, p := range all {
		if len(p.Lost) > 0 {
			return degraded, fmt.Sprintf("node %d keeps records that the cluster lacks", p.NodeID)
		}
	}
	for _, p := range all {
		if p.ClockOff {
			return degraded, fmt.Sprintf("clock of node %d off", p.NodeID)
		}
	}
	return healthy, ""
}

func conditionText(word, why string) string {
	if why == "" {
		return word
	}
	return word + ": " + why
}

// quorate reports whether as many voters answer as a decision needs. A node that does not know the voters yet assumes
// so.
func quorate(st api.ClusterStatus) bool { return st.Voters == 0 || st.Answering >= st.QuorumSize }

// LookEvery is the interval at which a node checks the others.
const LookEvery = time.Second

// looked holds the result of a node's last check of the others.
type looked struct {
	word, why string
	removed   bool
	hopeless  bool // removed, or no quorum: no leader will be heard
	lost      bool // hopeless at two looks in a row
}

// Look asks all members and stores what it saw, so that health checks and writes do not wait for members that do not
// answer.
func (cl *Cluster) Look(ctx context.Context) {
	before, now := cl.looked.Load(), cl.lookNow(ctx)
	now.lost = now.hopeless && before != nil && before.hopeless
	if ctx.Err() != nil {
		return
	}
	if now.lost && now.removed && !before.lost {
		cl.cfg.Logger.Error("this node is not a member of the cluster: stop it, or run `cairn cluster join` on a member",
			"node", cl.cfg.Member.NodeID, "addr", cl.raft.Advertised())
	}
	cl.looked.Store(&now)
}

func (cl *Cluster) lookNow(ctx context.Context) (l looked) {
	st := cl.Status(ctx)
	cl.noteLost(st)
	l.removed, l.hopeless = st.Removed, st.Removed || !quorate(st)
	l.word, l.why = condition(st)
	return l
}

// noteLost logs once which records a member keeps that the cluster lacks: an operator of any node is to know.
func (cl *Cluster) noteLost(st api.ClusterStatus) {
	for _, p := range st.Members() {
		for _, l := range p.Lost {
			if _, known := cl.logged.LoadOrStore(l, true); !known {
				cl.cfg.Logger.Error("a node keeps records that the cluster lacks: cairn recover --lost", "node", p.NodeID,
					"log", l.Log, "first", l.First, "last", l.Last, "acknowledged", l.Acknowledged)
			}
		}
	}
}

// Condition is the result of the last look. A change of leader counts at once, without another look.
func (cl *Cluster) Condition(ctx context.Context) (word, why string) {
	l := cl.looked.Load()
	_, led := cl.cfg.Commit.Leader()
	switch {
	case !led && (l == nil || l.word != unhealthy):
		return unhealthy, "no leader"
	case led && (l == nil || l.word == unhealthy):
		now := cl.lookNow(ctx)
		l = &now
	}
	return l.word, l.why
}

// removed reports whether this node, at its last look, was no member of its cluster.
func (cl *Cluster) removed() bool {
	l := cl.looked.Load()
	return l != nil && l.removed
}

// lost reports whether this node has heard of no quorum at its last looks, or was no member.
func (cl *Cluster) lost() bool {
	l := cl.looked.Load()
	return l != nil && l.lost
}

// NoQuorum says why no leader can be heard, and when that ends: at its last looks this node has heard of no quorum, or
// was no member. Empty while one may be heard.
func (cl *Cluster) NoQuorum() (why, until string) {
	switch {
	case !cl.lost():
		return "", ""
	case cl.removed():
		return cl.looked.Load().why, "once `cairn cluster join` on a member has made it one again"
	}
	return cl.looked.Load().why, "when a majority of the voters answers"
}

// CompareEvery is the interval at which a node compares its state's hash with the others'.
const CompareEvery = 15 * time.Second

// Values of the metric that reports whether the replicas agree.
var agreements = map[string]int64{"agree": 1, "unknown": 0, "diverged": -1}

// Compare watches whether the replicas hold the same, for the metric. Folder raft compares them as well, and acts on
// what it finds.
func (cl *Cluster) Compare(ctx context.Context) {
	cl.Agreed.Store(agreements[cl.Status(ctx).Agreement])
}
