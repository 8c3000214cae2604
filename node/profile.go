package node

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// A Profile is what a database knows of an entity.
type Profile struct {
	Entity      oplog.Entity
	Memories    int // that name it, in the window
	Sessions    int
	Domains     []string // by how many memories, then by name
	Valence     float64  // mean
	Trend       float64  // the newer half's mean less the older's; 0 under four memories
	Emotion     string   // the commonest, if any
	PerDay      float64
	Links       int // relations
	Relations   []string
	Depth       float64 // of the relationship, 0 to 1
	First, Last oplog.Time
}

// profileRows bounds the memories a profile is made of: the newest.
const profileRows = 2000

// EntityProfile says what is known of an entity over so many days; 0 means all of time.
func (s *Service) EntityProfile(ctx context.Context, c Caller, name string, days float64, f Freshness) (p Profile, err error) {
	var since oplog.Time
	if days > 0 {
		since = oplog.At(s.now()) - oplog.Time(days*float64(dayTime))
	}
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		name = v.Canonical(c.DB, "default", name)
		e, ok := v.Entity(c.DB, name)
		if !ok {
			return oplog.Errorf(oplog.NotFound, "no such entity")
		}
		p.Entity = e
		var rows []*oplog.Memory
		looked := 0
		v.EntityMemories(c.DB, name, func(m *oplog.Memory) bool {
			if m.Status != oplog.Tombstoned && m.Created >= since {
				rows = append(rows, m)
			}
			looked++
			return looked < profileRows
		})
		p.fill(rows, v.Edges(c.DB, name, profileRows))
		return nil
	})
	return p, err
}

// fill computes a profile of memories, the newest first.
func (p *Profile) fill(rows []*oplog.Memory, edges []oplog.Edge) {
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
	p.Memories, p.Sessions, p.Domains = len(rows), len(sessions), byCount(domains)
	if e := byCount(emotions); len(e) > 0 {
		p.Emotion = e[0]
	}
	for _, e := range edges {
		relations[e.Type]++
	}
	p.Links, p.Relations = len(edges), byCount(relations)
	if n := len(rows); n > 0 {
		p.Valence = sum / float64(n)
		p.First, p.Last = rows[n-1].Created, rows[0].Created
		p.PerDay = float64(n) / max(1, float64(p.Last-p.First)/float64(dayTime))
		if n >= 4 {
			p.Trend = newer/float64(n/2) - older/float64(n-n/2)
		}
	}
	share := func(n int, base float64) float64 { return math.Log(1+float64(n)) / math.Log(base) }
	depth := .25*share(p.Sessions, 4) + .25*share(p.Memories, 20) + .20*min(float64(len(domains))/3, 1) +
		.15*share(p.Links, 10) + .15*min(float64(len(relations))/4, 1)
	p.Depth = min(max(depth, 0), 1)
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
