package mind

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// MaxPatterns bounds the patterns that one round reports.
const MaxPatterns = 50

// FindPatterns returns the regularities in the snapshot, the most certain first.
func FindPatterns(ctx context.Context, s *Snapshot) ([]oplog.Pattern, error) {
	var out []oplog.Pattern
	for _, f := range []func(*Snapshot) []oplog.Pattern{coOccurrencePatterns, hourPatterns, valencePattern, topicPatterns, hubPatterns, crossDomainPatterns, bridgePatterns} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, f(s)...)
	}
	slices.SortStableFunc(out, func(a, b oplog.Pattern) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.Key, b.Key))
	})
	for i := range out {
		out[i].First, out[i].Confirmed = s.Now, s.Now
	}
	return out[:min(len(out), MaxPatterns)], nil
}

// coOccurrencePatterns finds pairs of entities that share three targets or more.
func coOccurrencePatterns(s *Snapshot) (out []oplog.Pattern) {
	dst := map[string][]string{}
	for i, e := range s.Edges {
		s.yieldAt(i)
		if !slices.Contains(dst[e.Dst], e.Src) && len(dst[e.Dst]) < 50 {
			dst[e.Dst] = append(dst[e.Dst], e.Src)
		}
	}
	shared := map[[2]string]int{}
	for _, srcs := range dst {
		slices.Sort(srcs)
		for i, a := range srcs {
			for _, b := range srcs[i+1:] {
				shared[[2]string{a, b}]++
			}
		}
	}
	for p, n := range shared { // sorted by the caller
		if n >= 3 {
			out = append(out, oplog.Pattern{Key: "co_occurrence\x00" + p[0] + "\x00" + p[1], Type: "co_occurrence",
				Confidence:  min(float64(n)/10, 1),
				Description: fmt.Sprintf("%s and %s are both related to %d others", p[0], p[1], n), Entities: p[:]})
		}
	}
	return out
}

var weekdayNames = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

// hourPatterns finds hours of the week with unusually many episodic rows. The epoch was a Thursday.
func hourPatterns(s *Snapshot) (out []oplog.Pattern) {
	var hours [168]int
	total := 0
	const hour = day / 24
	for i := range s.Rows {
		s.yieldAt(i)
		if r := &s.Rows[i]; r.Type == "episodic" && r.Created >= 0 {
			hours[(int64(r.Created/hour)+3*24)%168]++
			total++
		}
	}
	if total < 9 {
		return nil
	}
	mean := float64(total) / 168
	var sum float64
	for _, n := range hours {
		sum += (float64(n) - mean) * (float64(n) - mean)
	}
	limit := max(mean+2*math.Sqrt(sum/168), 3)
	for h, n := range hours {
		if float64(n) >= limit {
			out = append(out, oplog.Pattern{Key: fmt.Sprintf("temporal_cluster\x00%d", h), Type: "temporal_cluster",
				Confidence:  min(float64(n)/float64(total)*3, 1),
				Description: fmt.Sprintf("%d memories of %s, %d:00 UTC", n, weekdayNames[h/24], h%24)})
		}
	}
	return out
}

// valencePattern reports a change of the mean valence between two periods.
func valencePattern(s *Snapshot) []oplog.Pattern {
	now, then, ok := meanValences(s, 14*day, 21*day)
	if !ok || math.Abs(now-then) <= .3 {
		return nil
	}
	way := "up"
	if now < then {
		way = "down"
	}
	return []oplog.Pattern{{Key: "valence_trend\x00" + way, Type: "valence_trend", Confidence: min(math.Abs(now-then), 1),
		Description: fmt.Sprintf("mood goes %s: %+.2f after %+.2f", way, now, then)}}
}

// topicPatterns finds entities that five or more of the newest rows mention, over at least a week and at most a
// month.
func topicPatterns(s *Snapshot) (out []oplog.Pattern) {
	rows := s.Rows[max(0, len(s.Rows)-200):]
	by := map[string][]*Row{}
	for i := range rows {
		if s.Now-rows[i].Created <= 30*day {
			for _, e := range rows[i].Entities {
				by[e] = append(by[e], &rows[i])
			}
		}
	}
	for name, rs := range by {
		if len(rs) < 5 || rs[len(rs)-1].Created-rs[0].Created < 7*day {
			continue
		}
		p := oplog.Pattern{Key: "topic_cluster\x00" + name, Type: "topic_cluster", Confidence: min(float64(len(rs))/20, 1),
			Entities:    []string{name},
			Description: fmt.Sprintf("%s keeps coming up: %d memories", name, len(rs))}
		for _, r := range rs[:min(len(rs), 20)] {
			p.Sources = append(p.Sources, r.RID)
		}
		out = append(out, p)
	}
	return out
}

// hubPatterns finds entities with many relations.
func hubPatterns(s *Snapshot) (out []oplog.Pattern) {
	for _, h := range hubs(s) {
		out = append(out, oplog.Pattern{Key: "entity_hub\x00" + h.name, Type: "entity_hub",
			Confidence: min(float64(h.n)/20, 1), Entities: []string{h.name},
			Description: fmt.Sprintf("%s is at the centre of %d relations", h.name, h.n)})
	}
	return out
}

// Rows of two domains are similar when they share at least this part and this number of their words.
const (
	crossShare = .4
	crossWords = 3
)

// crossDomainPatterns finds pairs of domains with memories that share many words, among the newest rows that have a
// domain. The sources of the pattern are the two most similar memories.
func crossDomainPatterns(s *Snapshot) (out []oplog.Pattern) {
	var rows []*Row
	for i := len(s.Rows) - 1; i >= 0 && len(rows) < 200; i-- {
		if d := s.Rows[i].Domain; d != "" && d != "general" {
			rows = append(rows, &s.Rows[i])
		}
	}
	meanings := make([]meaning, len(rows))
	for i, r := range rows {
		meanings[i] = meaningOf(r.Text)
	}
	best := map[string]oplog.Pattern{}
	for i, a := range rows {
		s.yieldAt(0)
		for j, b := range rows[:i] {
			if a.Domain == b.Domain || a.Namespace != b.Namespace {
				continue
			}
			sim := jaccard(meanings[i].words, meanings[j].words)
			if sim < crossShare || sim*float64(min(len(meanings[i].words), len(meanings[j].words))) < crossShare*crossWords {
				continue
			}
			x, y := min(a.Domain, b.Domain), max(a.Domain, b.Domain)
			key := "cross_domain\x00" + x + "\x00" + y
			if best[key].Confidence < sim {
				best[key] = oplog.Pattern{Key: key, Type: "cross_domain", Confidence: sim,
					Sources:     []string{min(a.RID, b.RID), max(a.RID, b.RID)},
					Description: fmt.Sprintf("%s and %s meet: two memories share %.0f%% of their words", x, y, 100*sim)}
			}
		}
	}
	for _, p := range best { // sorted by the caller
		out = append(out, p)
	}
	return out
}

// bridgePatterns finds entities that are mentioned three times or more in each of two domains.
func bridgePatterns(s *Snapshot) (out []oplog.Pattern) {
	in := map[string]map[string]int{}
	for i := range s.Rows {
		s.yieldAt(i)
		r := &s.Rows[i]
		if r.Domain == "" || r.Domain == "general" {
			continue
		}
		for _, e := range r.Entities {
			if in[e] == nil {
				in[e] = map[string]int{}
			}
			in[e][r.Domain]++
		}
	}
	for name, domains := range in {
		var wide []string
		for d, n := range domains {
			if n >= 3 {
				wide = append(wide, d)
			}
		}
		if len(wide) < 2 {
			continue
		}
		slices.Sort(wide)
		out = append(out, oplog.Pattern{Key: "entity_bridge\x00" + name, Type: "entity_bridge",
			Confidence: min(float64(len(wide))/5, 1), Entities: []string{name},
			Description: fmt.Sprintf("%s connects %v", name, wide)})
	}
	return out
}

// PatternTriggers returns triggers for the patterns that the snapshot does not yet know.
func PatternTriggers(s *Snapshot, found []oplog.Pattern) (out []oplog.TriggerRow) {
	known := map[string]bool{}
	for _, p := range s.Patterns {
		known[p.Key] = true
	}
	for _, p := range found {
		if known[p.Key] {
			continue
		}
		name, u := "pattern_discovered", p.Confidence*.5
		switch p.Type {
		case "entity_bridge":
			name, u = "entity_bridge_discovered", max(p.Confidence*.7, .4)
		case "cross_domain":
			name, u = "surprise_connection", max(p.Confidence*.8, .5)
		}
		entity := p.Key
		if len(p.Entities) == 1 {
			entity = p.Entities[0] + "/" + p.Type
		}
		t := s.Trigger(name, u, p.Description, entity)
		t.Sources = p.Sources // after Trigger, so that the cooldown key does not depend on the sources
		out = append(out, t)
	}
	SortTriggers(out)
	return out[:min(len(out), maxPerKind)]
}
