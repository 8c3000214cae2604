package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
)

// The condition of a cluster, which all surfaces show with a reason: "healthy", "degraded: node 3 unreachable", "not
// healthy: no quorum, node 2 and node 3 unreachable". A degraded cluster accepts writes.
const (
	healthy   = "healthy"
	degraded  = "degraded"
	unhealthy = "not healthy"
)

// Conditions are the possible conditions.
var Conditions = []string{healthy, degraded, unhealthy}

// condition derives the condition and its reason from a status.
func condition(st api.ClusterStatus) (level, reason string) {
	var unreachable []string
	for _, p := range st.Peers {
		if !p.Reachable {
			unreachable = append(unreachable, fmt.Sprintf("node %d", p.NodeID))
		}
	}
	unreachableText := strings.Join(unreachable, " and ") + " unreachable"
	if len(unreachable) > 2 {
		unreachableText = strings.Join(unreachable[:len(unreachable)-1], ", ") + " and " + unreachable[len(unreachable)-1] + " unreachable"
	}
	all := st.Members()
	full := slices.IndexFunc(all, func(p api.Peer) bool { return p.DiskFull })
	switch {
	case st.Removed:
		return unhealthy, fmt.Sprintf("node %d is not a member of the cluster", st.NodeID)
	case !hasQuorum(st):
		return unhealthy, "no quorum, " + unreachableText
	case st.LeaderID == nil:
		return unhealthy, "no leader"
	case st.Agreement == "diverged":
		return degraded, "states differ"
	case full >= 0:
		return degraded, fmt.Sprintf("disk of node %d full, it refuses writes", all[full].NodeID)
	case len(unreachable) > 0:
		return degraded, unreachableText
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

func conditionText(level, reason string) string {
	if reason == "" {
		return level
	}
	return level + ": " + reason
}

// hasQuorum reports whether a quorum of the voters answers. A node that does not know the voters yet assumes that it
// does.
func hasQuorum(st api.ClusterStatus) bool { return st.Voters == 0 || st.Answering >= st.QuorumSize }

// PollEvery is the interval at which a node polls the others.
const PollEvery = time.Second

// A pollResult is the result of polling the other members.
type pollResult struct {
	level, reason string
	removed       bool
	cannotElect   bool // removed or without a quorum, so no leader will appear
	quorumLost    bool // cannotElect at two consecutive polls
}

// Poll queries all members and stores the result, so that health checks and writes do not wait for members that do
// not answer.
func (cl *Cluster) Poll(ctx context.Context) {
	previous, current := cl.lastPoll.Load(), cl.pollNow(ctx)
	current.quorumLost = current.cannotElect && previous != nil && previous.cannotElect
	if ctx.Err() != nil {
		return
	}
	if current.quorumLost && current.removed && !previous.quorumLost {
		cl.cfg.Logger.Error("this node is not a member of the cluster: stop it, or run `cairn cluster join` on a member",
			"node", cl.cfg.Member.NodeID, "addr", cl.raft.Advertised())
	}
	cl.lastPoll.Store(&current)
}

func (cl *Cluster) pollNow(ctx context.Context) (result pollResult) {
	st := cl.Status(ctx)
	cl.logLost(st)
	result.removed, result.cannotElect = st.Removed, st.Removed || !hasQuorum(st)
	result.level, result.reason = condition(st)
	return result
}

// logLost logs, once for each member, the records that the member has and the cluster lacks, so that the log of every
// node names them.
func (cl *Cluster) logLost(st api.ClusterStatus) {
	for _, p := range st.Members() {
		for _, l := range p.Lost {
			if _, known := cl.logged.LoadOrStore(l, true); !known {
				cl.cfg.Logger.Error("a node keeps records that the cluster lacks: cairn recover --lost", "node", p.NodeID,
					"log", l.Log, "first", l.First, "last", l.Last, "acknowledged", l.Acknowledged)
			}
		}
	}
}

// Condition returns the result of the last poll. It takes account of a change of leader at once.
func (cl *Cluster) Condition(ctx context.Context) (level, reason string) {
	poll := cl.lastPoll.Load()
	_, hasLeader := cl.cfg.Commit.Leader()
	switch {
	case !hasLeader && (poll == nil || poll.level != unhealthy):
		return unhealthy, "no leader"
	case hasLeader && (poll == nil || poll.level == unhealthy):
		current := cl.pollNow(ctx)
		poll = &current
	}
	return poll.level, poll.reason
}

// wasRemoved reports whether, at the last poll, this node was not a member of its cluster.
func (cl *Cluster) wasRemoved() bool {
	poll := cl.lastPoll.Load()
	return poll != nil && poll.removed
}

// quorumLost reports whether at the last two polls this node saw no quorum, or was not a member.
func (cl *Cluster) quorumLost() bool {
	poll := cl.lastPoll.Load()
	return poll != nil && poll.quorumLost
}

// NoQuorum returns the reason why no leader can appear and the event that ends this, or "" unless quorumLost.
func (cl *Cluster) NoQuorum() (reason, until string) {
	switch {
	case !cl.quorumLost():
		return "", ""
	case cl.wasRemoved():
		return cl.lastPoll.Load().reason, "once `cairn cluster join` on a member has made it one again"
	}
	return cl.lastPoll.Load().reason, "when a majority of the voters answers"
}

// CompareEvery is the interval at which a node compares its state's hash with those of the others.
const CompareEvery = 15 * time.Second

// agreements maps the agreement of the replicas to the values of the metric.
var agreements = map[string]int64{"agree": 1, "unknown": 0, "diverged": -1}

// Compare updates the metric that reports whether the replicas have equal states. Package raft also compares them,
// and reacts to differences.
func (cl *Cluster) Compare(ctx context.Context) {
	cl.Agreed.Store(agreements[cl.Status(ctx).Agreement])
}
