package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// statsScan bounds what /stats reads to count by tier.
const statsScan = 100_000

func (c *call) stats(a ask) (view, error) {
	counts, bytes, looked := map[string]int{}, 0, 0
	var st oplog.Stats
	var at oplog.Index
	err := c.set.Memory.View(c.ctx, func(v *oplog.View, db oplog.DB) error {
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
	cl := c.set.Memory.Cluster(c.ctx)
	return view{under("Cluster", describeCluster(cl)), cl}, nil
}

func describeCluster(cl Cluster) string {
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

func (c *call) think(a ask) (view, error) {
	if a.text != "" {
		return view{}, failf(InvalidPayload, "Usage: /think")
	}
	t, err := c.set.Memory.Think(c.ctx)
	if err != nil {
		return view{}, err
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
	res, _, err := c.set.Memory.Write(c.ctx, "", &oplog.Relate{ID: oplog.NewID(), Src: e.Src, Dst: e.Dst, Type: e.Type, Weight: e.Weight, At: oplog.At(time.Now())})
	if err != nil {
		return view{}, err
	}
	return view{"Related " + edgeLine(e), map[string]any{"id": res[0].ID, "new": res[0].Changed}}, nil
}

func (c *call) edges(a ask) (view, error) {
	entity := strings.TrimSpace(a.text)
	if entity == "" {
		return view{}, failf(InvalidPayload, "Usage: /edges <entity>")
	}
	var found []oplog.Edge
	err := c.set.Memory.View(c.ctx, func(v *oplog.View, db oplog.DB) error {
		found = v.Edges(db, entity, maxK)
		return nil
	})
	said := make([]string, len(found))
	for i, e := range found {
		said[i] = edgeLine(e)
	}
	return view{under("Edges of "+entity, orElse(strings.Join(said, "\n"), "(none)")), found}, err
}
