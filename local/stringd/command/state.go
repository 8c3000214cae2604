package command

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// maxStatsScan bounds the records that /stats reads to count by tier.
const maxStatsScan = 100_000

func (c *call) stats(a memoryArgs) (answer, error) {
	t, err := api.Tiers.Ask(c.ctx, c.Settings.Memory, &api.TiersRequest{Namespace: a.ns, Look: maxStatsScan})
	if err != nil {
		return answer{}, err
	}
	counts, st := t.Tiers, t.Stats
	names := slices.Clone(tiers)
	for t := range counts {
		if !slices.Contains(names, t) {
			names = append(names, t)
		}
	}
	slices.Sort(names[len(tiers):])
	var b strings.Builder
	fmt.Fprintf(&b, "ns: %s\n", cmp.Or(a.ns, "*"))
	for _, t := range names {
		fmt.Fprintf(&b, "%s: %d\n", t, counts[t])
	}
	fmt.Fprintf(&b, "bytes: %d\nmemories: %d (whole database)\nforgotten: %d\nrelations: %d\nlast index: %d", t.Bytes,
		st.Active, st.Tombstoned, st.Edges, t.Index)
	if st.NextSeq > maxStatsScan {
		fmt.Fprintf(&b, "\n(tiers and bytes are of the first %d records)", maxStatsScan)
	}
	return answer{lang.Titled("Memory stats", b.String()), map[string]any{"ns": a.ns, "tiers": counts, "bytes": t.Bytes, "active": st.Active,
		"tombstoned": st.Tombstoned, "edges": st.Edges, "index": t.Index}}, nil
}

func (c *call) cluster(a memoryArgs) (answer, error) {
	switch a.text {
	case "", "status", "nodes":
	default:
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /cluster [status|nodes]")
	}
	st, err := api.Cluster.Ask(c.ctx, c.Settings.Memory, &api.Nothing{})
	if err != nil {
		return answer{}, err
	}
	return clusterView(st), nil
}

// clusterView formats the status of the cluster, as this node sees it.
func clusterView(st *api.ClusterStatus) answer {
	leader := ""
	if st.LeaderID != nil {
		leader = strings.TrimSpace(fmt.Sprintf("n%d %s", *st.LeaderID, st.LeaderAddr))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "node: n%d (%s)\nleader: %s\nterm: %d\ncommit: %d applied: %d\npeers:", st.NodeID,
		strings.ToLower(st.Role), cmp.Or(leader, "none"),
		st.CurrentTerm, st.Commit, st.Applied)
	var peers []kit.Object // null if there are none
	for _, p := range st.Peers {
		last, seen, lag := -1.0, "never", "unknown"
		if p.LastSeenSecsAgo != nil {
			last = *p.LastSeenSecsAgo
			seen = fmt.Sprintf("%.1fs ago", last)
		}
		if p.LagEntries != nil {
			lag = strconv.FormatUint(*p.LagEntries, 10)
		}
		fmt.Fprintf(&b, "\n  n%d %s %s lag %s last contact %s", p.NodeID, strings.ToLower(p.State), p.Addr, lag, seen)
		peers = append(peers,
			kit.Object{"node", p.NodeID, "role", p.State, "address", p.Addr, "lag", p.LagEntries, "last_contact_seconds", last})
	}
	if peers == nil {
		b.WriteString(" (none)")
	}
	return answer{lang.Titled("Cluster", b.String()), kit.Object{"node", st.NodeID, "role", st.Role, "leader", leader, "term", st.CurrentTerm,
		"commit", st.Commit, "applied", uint64(st.Applied), "peers", peers}}
}

// thinkLimit bounds the memories that a round checks for duplicates.
const thinkLimit = 1000

func (c *call) think(a memoryArgs) (answer, error) {
	if a.text != "" {
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /think")
	}
	done, err := api.Think.Ask(c.ctx, c.Settings.Memory,
		&api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true}, Limit: thinkLimit})
	if err != nil {
		return answer{}, err
	}
	decayed, notes := 0, []string{} // important memories that have faded; reasons for attention, the most urgent first
	for _, x := range done.Triggers {
		if x.Type == "decay_review" {
			decayed++
		}
		notes = append(notes, x.Reason)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "merged: %d\nconflicts: %d\ndecayed: %d\nindex: %d", done.Merged, done.Conflicts, decayed, done.Index)
	for _, n := range notes {
		fmt.Fprintf(&b, "\n- %s", oneLine(n, 200))
	}
	return answer{lang.Titled("Thought", b.String()),
		kit.Object{"merged", done.Merged, "conflicts", done.Conflicts, "decayed", decayed, "notes", notes, "index", done.Index}}, nil
}

func edgeLine(e oplog.Edge) string {
	return api.OneLine(fmt.Sprintf("%s -%s-> %s (%g)", e.Src, e.Type, e.Dst, e.Weight))
}

func (c *call) relate(a memoryArgs) (answer, error) {
	w, err := lang.Words(a.text)
	if err != nil {
		return answer{}, err
	}
	if len(w) != 3 {
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /relate <src> <rel> <dst>")
	}
	weight, _ := strconv.ParseFloat(cmp.Or(a.flags["--weight"], "1"), 64) // checked with the flag
	made, err := write(c, api.Relate, &api.RelateRequest{Src: w[0], Dst: w[2], Type: w[1], Weight: weight})
	if err != nil {
		return answer{}, err
	}
	return answer{"Related " + edgeLine(oplog.Edge{Src: w[0], Type: w[1], Dst: w[2], Weight: weight}),
		map[string]any{"id": made.ID, "new": made.New}}, nil
}

func (c *call) edges(a memoryArgs) (answer, error) {
	entity := strings.TrimSpace(a.text)
	if entity == "" {
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /edges <entity>")
	}
	found, err := api.LookUp.Ask(c.ctx, c.Settings.Memory, &api.LookUpRequest{Entities: []string{entity}, Edges: maxK + 1})
	if err != nil {
		return answer{}, err
	}
	lines := api.Each(found.Edges, edgeLine)
	if len(lines) > maxK {
		lines, found.Edges = append(lines[:maxK], fmt.Sprintf("... (there are more than %d)", maxK)), found.Edges[:maxK]
	}
	return answer{lang.Titled("Edges of "+entity, cmp.Or(strings.Join(lines, "\n"), "(none)")), found.Edges}, nil
}
