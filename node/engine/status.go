package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

// own is a node's report about itself, the extension of CLUSTER_STATUS_RESULT.
type own struct {
	api.Vitals
	Role    string    `json:"role"`
	Through uint64    `json:"through"` // as Applied, with the log's own entries, which the state never sees
	Term    uint64    `json:"term"`
	Whole   bool      `json:"whole"`
	Store   api.Store `json:"store"`
}

func (s *Service) own() own {
	i, sum := s.state.Sum()
	st := s.raft.Status()
	clock := s.raft.Clock()
	return own{Role: s.role(st), Through: st.AppliedIndex, Term: st.Term, Whole: s.seen.scrubClean.Load() && s.raft.HasState(), Store: s.ownStore(),
		Vitals: api.Vitals{Applied: s.commit.Applied(), SumIndex: i, Sum: sum.String(), ClockOffset: millis(clock.Offset), ClockOff: clock.Off, Version: s.cfg.Member.Version, Key: s.key(),
			UptimeSecs: time.Since(s.measured.started).Seconds(), Damaged: s.damaged(), Disputes: s.disputes(), Models: s.vectors.Names(), Leftovers: s.cfg.Home.Leftovers()}}
}

func (s *Service) disputes() []api.Dispute {
	return each(s.raft.Disputes(), func(d raft.Dispute) api.Dispute {
		return api.Dispute{Peer: d.Peer, Index: d.Index, Says: d.Says, Times: d.Times, Verdict: d.Verdict}
	})
}

// ownStore is the files of this node's state.
func (s *Service) ownStore() api.Store {
	st := s.state.StoreStats()
	return api.Store{Bytes: s.state.Size(), Tables: st.Tables, Unmerged: st.Unmerged, Damaged: st.Damaged}
}

// role returns this node's role for clients: an elected node leads once its barrier is through.
func (s *Service) role(st raft.Status) string {
	if st.State == "Leader" && !s.commit.Leads() {
		return "Candidate"
	}
	return st.State
}

// askTimeout bounds what a status waits for one peer.
const askTimeout = 700 * time.Millisecond

// Status asks every member how it is and puts the answers together.
func (s *Service) Status(ctx context.Context) api.ClusterStatus {
	rs, me := s.raft.Status(), s.own()
	st := api.ClusterStatus{Clustered: true, Vitals: me.Vitals, Store: me.Store, Embedder: s.vectors.Status(), NodeID: s.cfg.Member.NodeID, Role: me.Role, RoleLabel: lower(me.Role), ConfiguredRole: s.cfg.Member.Role,
		CurrentTerm: rs.Term, AcceptsWrites: s.commit.Leads(), Addr: s.raft.Advertised(), Wire: s.cfg.Member.Wire, HTTP: s.cfg.Member.HTTP, Commit: rs.CommitIndex, Lag: s.lacks(), Peers: []api.Peer{}}
	infos := map[uint32]oplog.NodeInfo{}
	_ = s.state.Read(func(v *state.View) error { // a closing state leaves the addresses empty
		st.Cluster = v.Cluster()
		for _, i := range v.Nodes() {
			infos[i.ID] = i
		}
		return nil
	})
	st.Peers = s.askAll(ctx, rs.Members, infos)
	for _, m := range rs.Members {
		if m.Voter {
			st.Voters++
			if m.ID == s.cfg.Member.NodeID || slices.ContainsFunc(st.Peers, func(p api.Peer) bool { return p.NodeID == m.ID && p.Reachable }) {
				st.Answering++
			}
		}
	}
	st.QuorumSize = st.Voters/2 + 1
	if st.LeaderID = s.knownLeader(); st.LeaderID != nil {
		st.LeaderAddr, st.LeaderHTTP = infos[*st.LeaderID].Wire, infos[*st.LeaderID].HTTP
	}
	st.Healthy = st.LeaderID != nil && quorate(st)
	st.Agreement, st.DiskFull = agreement(st), s.cfg.Disk.Full()
	st.Condition = conditionText(condition(st))
	if len(rs.Members) <= 1 {
		st.Clustered, st.Message = false, "single-node mode (no replication)"
	}
	return st
}

// RaftStatus reports this node's view of consensus.
func (s *Service) RaftStatus() raft.Status { return s.raft.Status() }

// agreement compares state hashes taken at the same index; hashes at different ones say nothing, nor does that of a
// member whose rows are not what it was summed of.
func agreement(st api.ClusterStatus) string {
	said := "unknown"
	for _, p := range st.Peers {
		if !p.Reachable || p.SumIndex != st.SumIndex {
			continue
		}
		if p.Sum != st.Sum {
			return "diverged"
		}
		if damagedIn(p.Vitals) || damagedIn(st.Vitals) {
			continue
		}
		said = "agree"
	}
	return said
}

func damagedIn(v api.Vitals) bool {
	return slices.ContainsFunc(v.Damaged, func(d api.Damage) bool { return d.Kind == damage.State && !d.Healed })
}

func (s *Service) askAll(ctx context.Context, members []raft.Member, infos map[uint32]oplog.NodeInfo) []api.Peer {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	members = slices.DeleteFunc(slices.Clone(members), func(m raft.Member) bool { return m.ID == s.cfg.Member.NodeID })
	peers := make([]api.Peer, len(members))
	var wg sync.WaitGroup
	acknowledged, known := s.raft.Acknowledged()
	for i, m := range members {
		wg.Go(func() {
			p := s.ask(ctx, m)
			p.Wire, p.HTTP = infos[m.ID].Wire, infos[m.ID].HTTP
			if p.Reachable && known {
				// the entries of elections are no lag: the state never sees them
				p.LagEntries = new(less(acknowledged, max(uint64(p.Applied), p.Through)))
			}
			peers[i] = p
		})
	}
	wg.Wait()
	slices.SortFunc(peers, func(a, b api.Peer) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return peers
}

func (s *Service) ask(ctx context.Context, m raft.Member) api.Peer {
	p := api.Peer{NodeID: m.ID, Addr: m.Addr, Voter: m.Voter, Role: roleOf(m.Voter), State: "unreachable"}
	if !m.LastSeen.IsZero() {
		p.LastSeenSecsAgo = new(time.Since(m.LastSeen).Seconds())
	}
	var r wire.ClusterStatusResult
	var o own
	if s.raft.Ask(ctx, m.Addr, wire.OpClusterStatus, &wire.Nothing{}, wire.OpClusterStatusResult, &r) != nil || json.Unmarshal(r.Node, &o) != nil {
		return p
	}
	p.Reachable, p.State, p.CurrentTerm, p.Through, p.Vitals, p.Store, p.LastSeenSecsAgo, p.Whole = true, o.Role, o.Term, o.Through, o.Vitals, &o.Store, new(0.0), o.Whole
	return p
}

// KnownLeader is the node that takes writes, as far as this node knows.
func (s *Service) KnownLeader() api.Leader {
	if !s.commit.IsOpen() {
		return api.Leader{}
	}
	l := api.Leader{Term: s.raft.Term()}
	if info, ok := s.leaderInfo(); ok {
		l.ID, l.Wire = &info.ID, info.Wire
		if info.HTTP != "" {
			l.HTTP = s.cfg.Scheme + info.HTTP
		}
	}
	l.Lost = l.ID == nil && s.lost()
	return l
}

// leaderInfo returns the leader's client addresses, as far as this node knows them.
func (s *Service) leaderInfo() (info oplog.NodeInfo, ok bool) {
	id, ok := s.commit.Leader()
	if !ok {
		return info, false
	}
	info.ID = id
	nodes, _ := read(s, (*state.View).Nodes) // a closing state leaves the addresses empty
	if i := slices.IndexFunc(nodes, func(n oplog.NodeInfo) bool { return n.ID == id }); i >= 0 {
		info = nodes[i]
	}
	return info, true
}

// lacks returns the number of acknowledged records that this node has yet to apply; nil while it hears no leader.
func (s *Service) lacks() *uint64 { return s.behind(s.commit.Applied()) }

// behind returns the number of acknowledged records past an index; nil while this node hears no leader.
func (s *Service) behind(at oplog.Index) *uint64 {
	if !s.commit.IsOpen() {
		return nil
	}
	n, known := s.raft.Behind(uint64(at))
	if !known {
		return nil
	}
	return &n
}

// lag is for how long this node has lacked what is acknowledged; nil while it cannot know.
func (s *Service) lag() *float64 {
	n := s.behind(s.commit.Indexed())
	if n == nil {
		return nil
	}
	lag := 0.0
	if *n > 0 {
		lag = max(0, time.Since(s.state.Last().Time().Time()).Seconds())
	}
	return &lag
}

// Ready says whether this node has caught up with its leader, and is not far behind since.
func (s *Service) Ready() bool {
	at := uint64(s.commit.Indexed())
	n, known := s.raft.Behind(at)
	return s.raft.HasState() && s.raft.CaughtUp(at) && (!known || n <= maxReadyLag)
}

// Leader is the node that leads, as far as this one knows.
func (s *Service) Leader() (id uint32, ok bool) { return s.commit.Leader() }

// Applied returns the log index that this node has applied.
func (s *Service) Applied() oplog.Index { return s.commit.Applied() }

// LogTime is the newest time in the log.
func (s *Service) LogTime() time.Time { return s.state.Last().Time().Time() }

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// now is the time, as far as this node can know: a leader whose clock is off must not decide by it.
func (s *Service) now() time.Time { return s.raft.Clock().Time }

// Counted notes whether a count of the whole state found what was written.
func (s *Service) Counted(whole bool) {
	if s.seen.scrubClean.Store(whole); !whole {
		s.seen.damaged.Add(1)
	}
}
