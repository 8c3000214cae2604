package engine

import (
	"context"
	"fmt"
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

// condition derives the word and its reason from a status.
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
	switch {
	case !quorate(st):
		return unhealthy, "no quorum, " + away
	case st.LeaderID == nil:
		return unhealthy, "no leader"
	case st.Agreement == "diverged":
		return degraded, "states differ"
	case st.DiskFull:
		return degraded, fmt.Sprintf("disk of node %d full, it refuses writes", st.NodeID)
	case len(gone) > 0:
		return degraded, away
	}
	all := append([]api.Peer{{NodeID: st.NodeID, Vitals: st.Vitals}}, st.Peers...)
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

// quorate says whether as many voters answer as a decision needs. A node that does not know the voters yet assumes so.
func quorate(st api.ClusterStatus) bool { return st.Voters == 0 || st.Answering >= st.QuorumSize }

// lookEvery is the interval at which a node checks the others.
const lookEvery = time.Second

// looked holds the result of a node's last check of the others.
type looked struct {
	word, why string
	quorate   bool
	lost      bool // no quorum, at two looks in a row
}

// look asks all members and stores what it saw, so that health checks and writes do not wait for members that do not
// answer.
func (s *Service) look(ctx context.Context) {
	before, now := s.seen.looked.Load(), s.lookNow(ctx)
	now.lost = !now.quorate && before != nil && !before.quorate
	if ctx.Err() == nil {
		s.seen.looked.Store(&now)
	}
}

func (s *Service) lookNow(ctx context.Context) (l looked) {
	st := s.Status(ctx)
	s.noteLost(st)
	l.quorate = quorate(st)
	l.word, l.why = condition(st)
	return l
}

// noteLost logs once which records a member keeps that the cluster lacks: an operator of any node is to know.
func (s *Service) noteLost(st api.ClusterStatus) {
	for _, p := range append([]api.Peer{{NodeID: st.NodeID, Vitals: st.Vitals}}, st.Peers...) {
		for _, l := range p.Lost {
			if _, known := s.seen.lost.LoadOrStore(l, true); !known {
				s.log.Error("a node keeps records that the cluster lacks: cairn recover --lost", "node", p.NodeID, "log", l.Log, "first", l.First, "last", l.Last, "acknowledged", l.Acknowledged)
			}
		}
	}
}

// condition is the result of the last look. A change of leader counts at once, without another look.
func (s *Service) condition(ctx context.Context) (word, why string) {
	l := s.seen.looked.Load()
	_, led := s.commit.Leader()
	switch {
	case !led && (l == nil || l.word != unhealthy):
		return unhealthy, "no leader"
	case led && (l == nil || l.word == unhealthy):
		now := s.lookNow(ctx)
		l = &now
	}
	return l.word, l.why
}

// lost says whether this node has heard of no quorum at its last looks.
func (s *Service) lost() bool {
	l := s.seen.looked.Load()
	return l != nil && l.lost
}

// NoQuorum says why no leader can be elected: at its last looks this node has heard of no quorum. Empty when one may
// be.
func (s *Service) NoQuorum() string {
	if !s.lost() {
		return ""
	}
	return s.seen.looked.Load().why
}

// conditions is the metric: 1 for the word that holds, 0 for the others.
func conditions(m scrape, put func(float64, ...string)) {
	now, _ := m.s.condition(context.Background()) // bounded by what a status waits for a member
	for _, word := range []string{healthy, degraded, unhealthy} {
		put(number(word == now), word)
	}
}

// compareEvery is the interval at which a node compares its state's hash with the others'.
const compareEvery = 15 * time.Second

// Values of the metric that says whether the replicas agree.
var agreements = map[string]int64{"agree": 1, "unknown": 0, "diverged": -1}

// compare watches whether the replicas hold the same, for the metric. Folder raft compares them as well, and acts on
// what it finds.
func (s *Service) compare(ctx context.Context) {
	s.seen.agreed.Store(agreements[s.Status(ctx).Agreement])
}
