package mind

import "github.com/cairndb/cairn/oplog"

// inertia is the weight of the old traits in a new round.
const inertia = .85

// Traits returns the personality: the traits of the snapshot, smoothed with those of earlier rounds.
func Traits(s *Snapshot) *oplog.Personality {
	raw := rawTraits(s)
	p := s.Traits
	if p.Runs == 0 {
		p = raw
	} else {
		move := func(old *float64, now float64) { *old = clamp(inertia*(*old)+(1-inertia)*now, 0, 1) }
		move(&p.Attentiveness, raw.Attentiveness)
		move(&p.Depth, raw.Depth)
		move(&p.Energy, raw.Energy)
		move(&p.Warmth, raw.Warmth)
	}
	p.Runs = s.Traits.Runs + 1
	p.Confidence = min(float64(p.Runs)/20, 1)
	p.Updated = s.Now
	return &p
}

func rawTraits(s *Snapshot) (p oplog.Personality) {
	last := s.Rows[max(0, len(s.Rows)-100):]
	domains := map[string]bool{}
	var mood float64
	week := 0
	for i := range s.Rows {
		s.yieldAt(i)
		if d := s.Rows[i].Domain; d != "" {
			domains[d] = true
		}
		if s.Now-s.Rows[i].Created <= 7*day {
			week++
		}
	}
	for i := range last {
		mood += last[i].Valence
	}
	if len(last) > 0 {
		mood /= float64(len(last))
	}
	sure := 0
	for _, pt := range s.Patterns {
		if pt.Confidence > .5 {
			sure++
		}
	}
	settled := 0.0
	if all := s.Resolved + int(s.Stats.OpenConflicts); all > 0 {
		settled = float64(s.Resolved) / float64(all)
	}
	p.Warmth = clamp((mood+1)/2, 0, 1)
	p.Depth = clamp(clamp((float64(len(domains))-1)/4*.7+.2, .1, .9)+min(float64(s.Stats.Entities)/50*.3, .3), 0, 1)
	p.Energy = clamp(float64(week)/7/10*.8+.1, .1, .9)
	p.Attentiveness = clamp(clamp(float64(sure)/5*.7+.2, .2, .9)+.2*settled, 0, 1)
	return p
}

func clamp(x, low, high float64) float64 { return min(max(x, low), high) }
