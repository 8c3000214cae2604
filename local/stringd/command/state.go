package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// statsScan bounds what /stats reads to count by tier.
const statsScan = 100_000

func (c *call) stats(a ask) (view, error) {
	counts, bytes, looked := map[string]int{}, 0, 0
	var st oplog.Stats
	var at oplog.Index
	err := c.set.Memory.View(c.ctx, func(v *state.View, db oplog.DB) error {
		st, at = v.Stats(db), v.Index()
		v.Memories(db, 1, func(m *oplog.Memory) bool {
			if visible(m, a.ns, "") {
				counts[tierOf(m)]++
				bytes += len(m.Text) + len(m.Metadata)
			}
			looked++
			return looked < statsScan
		})
		return nil
	})
	if err != nil {
		return view{}, err
	}
	names := slices.Clone(tiers)
	for t := range counts {
		if !slices.Contains(names, t) {
			names = append(names, t)
		}
	}
	slices.Sort(names[len(tiers):])
	var b strings.Builder
	fmt.Fprintf(&b, "ns: %s\n", orElse(a.ns, "*"))
	for _, t := range names {
		fmt.Fprintf(&b, "%s: %d\n", t, counts[t])
	}
	fmt.Fprintf(&b, "bytes: %d\nmemories: %d (whole database)\nforgotten: %d\nrelations: %d\nlast index: %d", bytes, st.Active, st.Tombstoned, st.Edges, at)
	if st.NextSeq > statsScan {
		fmt.Fprintf(&b, "\n(tiers and bytes are of the first %d records)", statsScan)
	}
	return view{under("Memory stats", b.String()), map[string]any{"ns": a.ns, "tiers": counts, "bytes": bytes, "active": st.Active,
		"tombstoned": st.Tombstoned, "edges": st.Edges, "index": at}}, nil
}

func (c *call) cluster(a ask) (view, error) {
	switch a.text {
	case "", "status", "nodes":
	default:
		return view{}, failf(InvalidPayload, "Usage: /cluster [status|nodes]")
	}
	st, err := api.Cluster.Ask(c.ctx, c.set.Memory, &api.ClusterRequest{})
	if err != nil {
		return view{}, err
	}
	cl := clusterOf(st)
	return view{under("Cluster", describeCluster(cl)), cl}, nil
}

// clusterState is the cluster as one node sees it.
type clusterState struct {
	Node            uint32 `json:"node"`
	Role            string `json:"role"`
	Leader          string `json:"leader"` // empty without one
	Term            uint64 `json:"term"`
	Commit, Applied uint64
	Peers           []peer `json:"peers"`
}

// A peer is another member.
type peer struct {
	Node uint32  `json:"node"`
	Role string  `json:"role"`
	Addr string  `json:"address"`
	Lag  *uint64 `json:"lag"`                  // nil: not known
	Seen float64 `json:"last_contact_seconds"` // negative when unknown
}

func clusterOf(st *api.ClusterStatus) clusterState {
	cl := clusterState{Node: st.NodeID, Role: st.Role, Term: st.CurrentTerm, Commit: st.Commit, Applied: uint64(st.Applied)}
	if st.LeaderID != nil {
		cl.Leader = strings.TrimSpace(fmt.Sprintf("n%d %s", *st.LeaderID, st.LeaderAddr))
	}
	for _, p := range st.Peers {
		seen := -1.0
		if p.LastSeenSecsAgo != nil {
			seen = *p.LastSeenSecsAgo
		}
		cl.Peers = append(cl.Peers, peer{Node: p.NodeID, Role: p.State, Addr: p.Addr, Lag: p.LagEntries, Seen: seen})
	}
	return cl
}

func describeCluster(cl clusterState) string {
	var b strings.Builder
	fmt.Fprintf(&b, "node: n%d (%s)\nleader: %s\nterm: %d\ncommit: %d applied: %d\npeers:", cl.Node, strings.ToLower(cl.Role), orElse(cl.Leader, "none"), cl.Term, cl.Commit, cl.Applied)
	for _, p := range cl.Peers {
		seen := "never"
		if p.Seen >= 0 {
			seen = fmt.Sprintf("%.1fs ago", p.Seen)
		}
		lag := "unknown"
		if p.Lag != nil {
			lag = strconv.FormatUint(*p.Lag, 10)
		}
		fmt.Fprintf(&b, "\n  n%d %s %s lag %s last contact %s", p.Node, strings.ToLower(p.Role), p.Addr, lag, seen)
	}
	if len(cl.Peers) == 0 {
		b.WriteString(" (none)")
	}
	return b.String()
}

func graphFamily() []def {
	return []def{
		{name: "relate", usage: "/relate <src> <rel> <dst>", about: "say that two things are related: --weight", shell: true, run: memo((*call).relate, flag{name: "--weight", check: number(0, 1e9)})},
		{name: "edges", usage: "/edges <entity>", about: "what a thing is related to", shell: true, run: memo((*call).edges)},
		{name: "think", usage: "/think", about: "merge duplicates, find contradictions, say what deserves attention", shell: true, run: memo((*call).think)},
	}
}

// A thought is what looking over the memories came to.
type thought struct {
	Merged    int         `json:"merged"`    // memories that say what others say, into one
	Conflicts int         `json:"conflicts"` // found
	Decayed   int         `json:"decayed"`   // important ones that have faded, to be confirmed or forgotten
	Notes     []string    `json:"notes"`     // what deserves attention, the most urgent first
	Index     oplog.Index `json:"index"`
}

// thinkLimit is for how many memories a round looks for duplicates.
const thinkLimit = 1000

func (c *call) think(a ask) (view, error) {
	if a.text != "" {
		return view{}, failf(InvalidPayload, "Usage: /think")
	}
	done, err := api.Think.Ask(c.ctx, c.set.Memory, &api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true}, Limit: thinkLimit})
	if err != nil {
		return view{}, err
	}
	t := thought{Merged: int(done.Merged), Conflicts: int(done.Conflicts), Notes: []string{}, Index: done.Index}
	for _, x := range done.Triggers {
		if x.Type == "decay_review" {
			t.Decayed++
		}
		t.Notes = append(t.Notes, x.Reason)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "merged: %d\nconflicts: %d\ndecayed: %d\nindex: %d", t.Merged, t.Conflicts, t.Decayed, t.Index)
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "\n- %s", oneLine(n, 200))
	}
	return view{under("Thought", b.String()), t}, nil
}

func edgeLine(e oplog.Edge) string {
	return fmt.Sprintf("%s -%s-> %s (%g)", e.Src, e.Type, e.Dst, e.Weight)
}

func (c *call) relate(a ask) (view, error) {
	w, err := words(a.text)
	if err != nil {
		return view{}, err
	}
	if len(w) != 3 {
		return view{}, failf(InvalidPayload, "Usage: /relate <src> <rel> <dst>")
	}
	e := oplog.Edge{Src: w[0], Type: w[1], Dst: w[2], Weight: 1}
	if v, ok := a.flags["--weight"]; ok {
		fmt.Sscan(v, &e.Weight) // checked with the flag
	}
	made, err := write(c, api.Relate, &api.RelateRequest{Src: e.Src, Dst: e.Dst, Type: e.Type, Weight: e.Weight})
	if err != nil {
		return view{}, err
	}
	return view{"Related " + edgeLine(e), map[string]any{"id": made.ID, "new": made.New}}, nil
}

func (c *call) edges(a ask) (view, error) {
	entity := strings.TrimSpace(a.text)
	if entity == "" {
		return view{}, failf(InvalidPayload, "Usage: /edges <entity>")
	}
	var found []oplog.Edge
	err := c.set.Memory.View(c.ctx, func(v *state.View, db oplog.DB) error {
		found = v.Edges(db, entity, maxK)
		return nil
	})
	said := make([]string, len(found))
	for i, e := range found {
		said[i] = edgeLine(e)
	}
	return view{under("Edges of "+entity, orElse(strings.Join(said, "\n"), "(none)")), found}, err
}
