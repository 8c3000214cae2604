package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
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

// A nodeReport is a node's report about itself, in an extension field of CLUSTER_STATUS_RESULT.
type nodeReport struct {
	api.Vitals
	Role    string    `json:"role"`
	Through uint64    `json:"through"` // like Applied, but including raft's own entries, which the state never gets
	Term    uint64    `json:"term"`
	Whole   bool      `json:"whole"`
	Store   api.Store `json:"store"`
}

func (cl *Cluster) selfReport() nodeReport {
	i, sum := cl.cfg.State.Sum()
	st := cl.raft.Status()
	clock := cl.raft.Clock()
	return nodeReport{Role: cl.role(st), Through: st.AppliedIndex, Term: st.Term, Whole: cl.scrubClean.Load() && cl.raft.HasState(),
		Store: cl.ownStore(),
		Vitals: api.Vitals{Applied: cl.cfg.Commit.Applied(), SumIndex: i, Sum: sum.String(),
			ClockOffset: millis(clock.Offset), ClockOff: clock.Off, Version: cl.cfg.Member.Version, Key: cl.cfg.Key,
			UptimeSecs: time.Since(cl.Started).Seconds(), DiskFull: cl.cfg.Disk.Full(), Damaged: cl.damageReport(), Disputes: api.Each(cl.raft.Disputes(), disputeOf),
			Models: cl.cfg.Models(), Leftovers: cl.cfg.Leftovers()}}
}

var disputeOf = api.Made[raft.Dispute, api.Dispute]()

// ownStore returns statistics of this node's state files.
func (cl *Cluster) ownStore() api.Store {
	st := cl.cfg.State.StoreStats()
	return api.Store{Bytes: cl.cfg.State.Size(), Tables: st.Tables, Unmerged: st.Unmerged, Damaged: st.Damaged}
}

// role returns this node's role for clients: an elected node counts as leader once its barrier is applied.
func (cl *Cluster) role(st raft.Status) string {
	if st.State == "Leader" && !cl.cfg.Commit.Leads() {
		return "Candidate"
	}
	return st.State
}

// queryTimeout bounds the time that a status waits for the members.
const queryTimeout = 700 * time.Millisecond

// Status queries every member and combines the answers.
func (cl *Cluster) Status(ctx context.Context) api.ClusterStatus {
	rs, me := cl.raft.Status(), cl.selfReport()
	st := api.ClusterStatus{Clustered: true, Vitals: me.Vitals, Store: me.Store, Embedder: cl.cfg.Embedder(),
		NodeID: cl.cfg.Member.NodeID, Role: me.Role, RoleLabel: lowerFirst(me.Role), ConfiguredRole: cl.cfg.Member.Role,
		Voter: cl.isVoter(), CurrentTerm: rs.Term, AcceptsWrites: cl.cfg.Commit.Leads(), Addr: cl.raft.Advertised(),
		Wire: cl.cfg.Member.Wire, HTTP: cl.cfg.Member.HTTP, Commit: rs.CommitIndex, Lag: cl.LagEntries(), Peers: []api.Peer{}}
	infos := map[uint32]oplog.NodeInfo{}
	_ = cl.cfg.State.Inspect(func(v *state.View) { // a closing state leaves the addresses empty
		st.Cluster = v.Cluster()
		for _, i := range v.Nodes() {
			infos[i.ID] = i
		}
	})
	st.Peers = cl.queryMembers(ctx, rs.Members, infos)
	for _, m := range rs.Members {
		if m.Voter {
			st.Voters++
			if m.ID == cl.cfg.Member.NodeID ||
				slices.ContainsFunc(st.Peers, func(p api.Peer) bool { return p.NodeID == m.ID && p.Reachable }) {
				st.Answering++
			}
		}
	}
	st.QuorumSize = st.Voters/2 + 1
	if st.LeaderID = cl.knownLeader(); st.LeaderID != nil {
		st.LeaderAddr, st.LeaderHTTP = infos[*st.LeaderID].Wire, infos[*st.LeaderID].HTTP
	}
	st.Removed = st.LeaderID == nil && cl.isOmitted(rs.Members, st.Peers)
	st.Healthy = st.LeaderID != nil && hasQuorum(st)
	st.Agreement = agreement(st)
	st.Condition = conditionText(condition(st))
	if len(rs.Members) <= 1 {
		st.Clustered, st.Message = false, "single-node mode (no replication)"
	}
	return st
}

// isOmitted reports whether the membership that this node knows, or that a leader among its peers knows, lacks this
// node. A node that was removed while it was down cannot learn that from its log.
func (cl *Cluster) isOmitted(members []raft.Member, peers []api.Peer) bool {
	isSelf := func(m raft.Member) bool { return m.ID == cl.cfg.Member.NodeID }
	return len(members) > 0 && !slices.ContainsFunc(members, isSelf) ||
		slices.ContainsFunc(peers, func(p api.Peer) bool { return p.Omits })
}

// agreement compares state hashes at the same index. Hashes at different indexes prove nothing, nor does an equal
// hash of a member with damaged rows.
func agreement(st api.ClusterStatus) string {
	result := "unknown"
	for _, p := range st.Peers {
		if !p.Reachable || p.SumIndex != st.SumIndex {
			continue
		}
		if p.Sum != st.Sum {
			return "diverged"
		}
		if hasDamagedState(p.Vitals) || hasDamagedState(st.Vitals) {
			continue
		}
		result = "agree"
	}
	return result
}

func hasDamagedState(v api.Vitals) bool {
	return slices.ContainsFunc(v.Damaged, func(d api.Damage) bool { return d.Kind == damage.State && !d.Healed })
}

func (cl *Cluster) queryMembers(ctx context.Context, members []raft.Member, infos map[uint32]oplog.NodeInfo) []api.Peer {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	members = slices.DeleteFunc(slices.Clone(members), func(m raft.Member) bool { return m.ID == cl.cfg.Member.NodeID })
	peers := make([]api.Peer, len(members))
	var wg sync.WaitGroup
	acknowledged, known := cl.raft.Acknowledged()
	for i, m := range members {
		wg.Go(func() {
			p := cl.queryMember(ctx, m)
			p.Wire, p.HTTP = infos[m.ID].Wire, infos[m.ID].HTTP
			if p.Reachable && known {
				// Through includes entries of elections, which the state never gets and which are no lag
				p.LagEntries = new(acknowledged - min(acknowledged, max(uint64(p.Applied), p.Through)))
			}
			peers[i] = p
		})
	}
	wg.Wait()
	slices.SortFunc(peers, func(a, b api.Peer) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return peers
}

func (cl *Cluster) queryMember(ctx context.Context, m raft.Member) api.Peer {
	p := api.Peer{NodeID: m.ID, Addr: m.Addr, Voter: m.Voter, Role: RoleOf(m.Voter), State: "unreachable"}
	if !m.LastSeen.IsZero() {
		p.LastSeenSecsAgo = new(time.Since(m.LastSeen).Seconds())
	}
	var answer wire.ClusterStatusResult
	var report nodeReport
	if cl.raft.Ask(ctx, m.Addr, wire.OpClusterStatus, &wire.Nothing{}, wire.OpClusterStatusResult, &answer) != nil ||
		json.Unmarshal(answer.Node, &report) != nil {
		return p
	}
	isSelf := func(peer wire.PeerStatus) bool { return peer.NodeID == cl.cfg.Member.NodeID }
	p.Omits = answer.LeaderID != nil && *answer.LeaderID == m.ID && !slices.ContainsFunc(answer.Peers, isSelf)
	p.Reachable, p.State, p.CurrentTerm, p.Through, p.Vitals, p.Store, p.LastSeenSecsAgo, p.Whole = true, report.Role, report.Term, report.Through, report.Vitals, &report.Store, new(0.0), report.Whole
	return p
}

// PeerStatus answers another node's status request, without querying other nodes.
func (cl *Cluster) PeerStatus() (*wire.ClusterStatusResult, error) {
	own, err := json.Marshal(cl.selfReport())
	if err != nil {
		return nil, err
	}
	st := cl.raft.Status()
	r := &wire.ClusterStatusResult{CurrentTerm: st.Term, SelfID: cl.cfg.Member.NodeID, SelfRole: cl.cfg.Member.Role,
		Peers: []wire.PeerStatus{}, Node: own, LeaderID: cl.knownLeader()}
	voters := uint32(0)
	for _, m := range st.Members {
		if m.Voter {
			voters++
		}
		if m.ID == cl.cfg.Member.NodeID {
			continue
		}
		role := raft.RoleVoter
		if !m.Voter {
			role = raft.RoleReadReplica
		}
		p := wire.PeerStatus{NodeID: m.ID, Addr: m.Addr, Role: role, CurrentTerm: st.Term, LastSeenSecsAgo: math.Inf(1)}
		r.Peers = append(r.Peers, p)
	}
	r.QuorumSize = voters/2 + 1
	r.Healthy = r.LeaderID != nil
	return r, nil
}

// KnownLeader returns the node that accepts writes, as far as this node knows.
func (cl *Cluster) KnownLeader() api.Leader {
	if !cl.cfg.Commit.IsOpen() {
		return api.Leader{}
	}
	l := api.Leader{Term: cl.raft.Term()}
	if info, ok := cl.leaderInfo(); ok {
		l.ID, l.Wire = &info.ID, info.Wire
		if info.HTTP != "" {
			l.HTTP = cl.cfg.Scheme + info.HTTP
		}
	}
	l.Lost = l.ID == nil && cl.quorumLost()
	return l
}

// leaderInfo returns the leader's client addresses, as far as this node knows them.
func (cl *Cluster) leaderInfo() (info oplog.NodeInfo, ok bool) {
	id, ok := cl.cfg.Commit.Leader()
	if !ok {
		return info, false
	}
	info.ID = id
	nodes, _ := state.Get(cl.cfg.State, (*state.View).Nodes) // a closing state leaves the addresses empty
	if i := slices.IndexFunc(nodes, func(n oplog.NodeInfo) bool { return n.ID == id }); i >= 0 {
		info = nodes[i]
	}
	return info, true
}

// LagEntries returns the number of acknowledged records that this node has not applied, nil without a leader.
func (cl *Cluster) LagEntries() *uint64 { return cl.lagFrom(cl.cfg.Commit.Applied()) }

// lagFrom returns the number of acknowledged records after an index, nil without a leader.
func (cl *Cluster) lagFrom(at oplog.Index) *uint64 {
	if !cl.cfg.Commit.IsOpen() {
		return nil
	}
	n, known := cl.raft.Lag(uint64(at))
	if !known {
		return nil
	}
	return &n
}

// LagSeconds returns for how long this node has lacked acknowledged records, nil if unknown.
func (cl *Cluster) LagSeconds() *float64 {
	n := cl.lagFrom(cl.cfg.Commit.Indexed())
	if n == nil {
		return nil
	}
	lag := 0.0
	if *n > 0 {
		lag = max(0, time.Since(cl.cfg.State.Last().Time().Time()).Seconds())
	}
	return &lag
}

// Ready reports whether this node is a member that has caught up with its leader and is not far behind.
func (cl *Cluster) Ready() bool {
	at := uint64(cl.cfg.Commit.Indexed())
	n, known := cl.raft.Lag(at)
	return !cl.wasRemoved() && cl.raft.HasState() && cl.raft.CaughtUp(at) && (!known || n <= maxReadyLag)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// ScrubDone records whether a scrub of the whole state found no damage.
func (cl *Cluster) ScrubDone(clean bool) {
	if cl.scrubClean.Store(clean); !clean {
		cl.DamageFound.Add(1)
	}
}
