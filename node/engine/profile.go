package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// profileRows bounds the memories a profile is made of: the newest.
const profileRows = 2000

// profile returns a summary of the memories and relations of an entity.
func (s *Service) profile(v *state.View, c api.Caller, q *api.ProfileRequest) (*api.EntityProfile, error) {
	back, err := parseDays(q.Days)
	if err != nil {
		return nil, err
	}
	var since oplog.Time
	if back > 0 {
		since = oplog.At(s.now()) - back
	}
	names := v.ResolveName(c.DB, orDefault(q.Namespace), q.Name)
	e, ok := entityOf(v, c.DB, names)
	if !ok {
		return nil, oplog.Errorf(oplog.NotFound, "no such entity")
	}
	r := c.Reach(q.Namespace)
	rows, _ := state.Collect(profileRows, outlined(func(f func(*oplog.Memory) bool) { v.MemoriesOfAll(c.DB, names, f) }),
		func(m *oplog.Memory) bool { return !m.Unlisted() && m.Created >= since && r.Has(m.Namespace) })
	if r.All() {
		return profileOf(&e, rows, v.EdgesOfAll(c.DB, names, profileRows)), nil
	}
	if len(rows) == 0 {
		return nil, oplog.Errorf(oplog.NotFound, "no such entity")
	}
	if e.Mentions = uint64(len(rows)); r.Within.Bind() {
		e.Type = "" // all memories say it together
	}
	return profileOf(&e, rows, nil), nil
}

// entityOf returns the first of several names as one entity, with the mentions of all.
func entityOf(v *state.View, db oplog.DB, names []string) (one oplog.Entity, ok bool) {
	for _, name := range names {
		if e, has := v.Entity(db, name); has {
			if one.Mentions += e.Mentions; !ok {
				e.Name, e.Mentions, ok = names[0], one.Mentions, true
				one = e
			}
		}
	}
	return one, ok
}

// profileOf computes an entity's profile from memories and relations.
func profileOf(e *oplog.Entity, rows []*oplog.Memory, edges []oplog.Edge) *api.EntityProfile {
	p := &api.EntityProfile{Entity: e.Name, Type: e.Type, Mentions: uint64(e.Mentions), Memories: len(rows), Links: len(edges)}
	slices.SortStableFunc(rows, func(a, b *oplog.Memory) int { return cmp.Compare(b.Created, a.Created) })
	sessions, domains, emotions, relations := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	var sum, newer, older float64
	for i, m := range rows {
		if m.Session != "" {
			sessions[m.Session]++
		}
		if m.Domain != "" {
			domains[m.Domain]++
		}
		if m.Emotion != "" {
			emotions[m.Emotion]++
		}
		sum += m.Valence
		if i < len(rows)/2 {
			newer += m.Valence
		} else {
			older += m.Valence
		}
	}
	p.Sessions, p.Domains = len(sessions), byCount(domains)
	if all := byCount(emotions); len(all) > 0 {
		p.Emotion = &all[0]
	}
	for _, e := range edges {
		relations[e.Type]++
	}
	p.Relations = byCount(relations)
	if n := len(rows); n > 0 {
		p.Valence = sum / float64(n)
		first, last := rows[n-1].Created, rows[0].Created
		p.First, p.Last = api.When(first), api.When(last)
		p.PerDay = float64(n) / max(1, float64(last-first)/float64(dayTime))
		if n >= 4 {
			p.Trend = newer/float64(n/2) - older/float64(n-n/2)
		}
	}
	share := func(n int, base float64) float64 { return math.Log(1+float64(n)) / math.Log(base) }
	depth := .25*share(p.Sessions, 4) + .25*share(p.Memories, 20) + .20*min(float64(len(domains))/3, 1) +
		.15*share(p.Links, 10) + .15*min(float64(len(relations))/4, 1)
	p.Depth = min(max(depth, 0), 1)
	return p
}

// byCount lists the keys, the commonest first, then by name.
func byCount(m map[string]int) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	return names
}
