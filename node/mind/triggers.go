package mind

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// A triggerKind holds the suggested action of a trigger, its cooldown, and the time until it expires.
type triggerKind struct {
	action       string
	cool, expiry oplog.Time
}

var triggerKinds = map[string]triggerKind{
	"decay_review":             {"ask_user_to_confirm_or_forget", 3 * day, 7 * day},
	"consolidation_ready":      {"run_consolidation", 1 * day, 3 * day},
	"conflict_escalation":      {"review_conflicts", 2 * day, 14 * day},
	"temporal_drift":           {"verify_or_update", 14 * day, 7 * day},
	"redundancy":               {"consolidate_or_forget", 1 * day, 7 * day},
	"relationship_insight":     {"explore_entity", 7 * day, 7 * day},
	"valence_trend":            {"acknowledge_trend", 7 * day, 7 * day},
	"entity_anomaly":           {"review_entity", 7 * day, 7 * day},
	"pattern_discovered":       {"explore_pattern", 7 * day, 7 * day},
	"entity_bridge_discovered": {"explore_bridge", 7 * day, 7 * day},
	"session_awareness":        {"acknowledge", 3 * day, 7 * day},
	"weights_updated":          {"acknowledge", 3 * day, 7 * day},
	"surprise_connection":      {"explore_connection", 7 * day, 7 * day},
	"gossip_expand_category":   {"ask_llm_to_classify", 3 * day, 7 * day},
}

// Trigger creates a trigger. Its cooldown key is its type, its entity and its sources in order.
func (s *Snapshot) Trigger(name string, urgency float64, reason, entity string, sources ...string) oplog.TriggerRow {
	k := triggerKinds[name]
	slices.Sort(sources)
	return oplog.TriggerRow{Type: name, Urgency: min(max(urgency, 0), 1), Reason: reason, Action: k.action, Sources: sources,
		Entity: entity, Created: s.Now,
		Expires: s.Now + k.expiry, CoolFor: k.cool, Cooldown: strings.Join(append([]string{name, entity}, sources...), "\x00")}
}

// decay returns the importance that the memory still has.
func (r *Row) decay(now oplog.Time) float64 {
	if r.HalfLife <= 0 {
		return 0
	}
	return r.Importance * math.Exp2(-max(0, (now-r.Accessed).Seconds())/r.HalfLife)
}

// maxPerKind bounds the triggers of one kind in one round.
const maxPerKind = 10

// Triggers returns suggestions for agents, the most urgent first.
func Triggers(ctx context.Context, s *Snapshot) ([]oplog.TriggerRow, error) {
	var out []oplog.TriggerRow
	for _, f := range []func(*Snapshot) []oplog.TriggerRow{decayTriggers, consolidationTrigger, escalationTrigger, driftTriggers, redundancyTriggers, hubTriggers, valenceTrigger,
		anomalyTriggers, sessionTrigger} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found := f(s)
		SortTriggers(found)
		out = append(out, found[:min(len(found), maxPerKind)]...)
	}
	SortTriggers(out)
	return out, nil
}

// SortTriggers sorts by urgency, the most urgent first, then by type and cooldown key.
func SortTriggers(t []oplog.TriggerRow) {
	slices.SortStableFunc(t, func(a, b oplog.TriggerRow) int {
		return cmp.Or(cmp.Compare(b.Urgency, a.Urgency), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Cooldown, b.Cooldown))
	})
}

// A rowUrgency is a row and the urgency of its trigger.
type rowUrgency struct {
	row     *Row
	urgency float64
}

// mostUrgent returns the rows with the greatest urgency, at most maxPerKind. Urgency 0 means no trigger.
func (s *Snapshot) mostUrgent(of func(*Row) float64) (top []rowUrgency) {
	for i := range s.Rows {
		s.yieldAt(i)
		u := of(&s.Rows[i])
		if u <= 0 || len(top) == maxPerKind && u <= top[maxPerKind-1].urgency {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, u, func(x rowUrgency, u float64) int {
			if x.urgency >= u { // at equal urgency the older row comes first
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, rowUrgency{&s.Rows[i], u})
		top = top[:min(len(top), maxPerKind)]
	}
	return top
}

// decayTriggers returns triggers for important memories that have decayed.
func decayTriggers(s *Snapshot) (out []oplog.TriggerRow) {
	for _, x := range s.mostUrgent(func(r *Row) float64 {
		if d := r.decay(s.Now); r.Importance >= .5 && d < .1 {
			return r.Importance * (1 - d/r.Importance)
		}
		return 0
	}) {
		out = append(out, s.Trigger("decay_review", x.urgency,
			fmt.Sprintf("an important memory (%.2f) has faded to %.2f", x.row.Importance, x.row.decay(s.Now)), "", x.row.RID))
	}
	return out
}

// consolidationTrigger suggests a consolidation if there are many episodic memories.
func consolidationTrigger(s *Snapshot) []oplog.TriggerRow {
	episodic := 0
	for i := range s.Rows {
		s.yieldAt(i)
		if s.Rows[i].Type == "episodic" {
			episodic++
		}
	}
	if len(s.Rows) < 10 || episodic < 10 {
		return nil
	}
	return []oplog.TriggerRow{s.Trigger("consolidation_ready", float64(episodic)/50,
		fmt.Sprintf("%d episodic memories could be consolidated", episodic), "")}
}

// escalationTrigger suggests a review if conflicts are many or a critical one is old.
func escalationTrigger(s *Snapshot) []oplog.TriggerRow {
	n := s.Stats.OpenConflicts
	ageing := s.Critical != 0 && s.Now-s.Critical > 3*day
	if n <= 5 && !ageing {
		return nil
	}
	u := min(float64(n)/10, 1)
	if ageing {
		u += .3
	}
	return []oplog.TriggerRow{s.Trigger("conflict_escalation", u, fmt.Sprintf("%d conflicts are open", n), "")}
}

// driftTriggers returns triggers for old facts that were not accessed for a month.
func driftTriggers(s *Snapshot) (out []oplog.TriggerRow) {
	for _, x := range s.mostUrgent(func(r *Row) float64 {
		if age := s.Now - r.Created; r.Type == "semantic" && age > 90*day && s.Now-r.Accessed > 30*day {
			return float64(age) / float64(365*day)
		}
		return 0
	}) {
		out = append(out, s.Trigger("temporal_drift", x.urgency,
			fmt.Sprintf("%d days old and not looked at for a month", (s.Now-x.row.Created)/day), "", x.row.RID))
	}
	return out
}

// newest is the number of rows that redundancyTriggers compares pair by pair.
const newest = 30

// redundancyTriggers returns triggers for duplicates among the newest rows.
func redundancyTriggers(s *Snapshot) (out []oplog.TriggerRow) {
	rows := s.Rows[max(0, len(s.Rows)-newest):]
	meanings := make([]meaning, len(rows))
	for i := range rows {
		meanings[i] = meaningOf(rows[i].Text)
	}
	for i := range rows {
		for j := i + 1; j < len(rows); j++ {
			a, b := &rows[i], &rows[j]
			if a.Namespace != b.Namespace || a.Merged || b.Merged || !sameMeaning(&meanings[i], &meanings[j]) {
				continue
			}
			sim := jaccard(meanings[i].words, meanings[j].words)
			out = append(out, s.Trigger("redundancy", sim, fmt.Sprintf("two memories say the same (%.0f%%)", 100*sim), "", a.RID, b.RID))
			if len(out) == 5 {
				return out
			}
		}
	}
	return out
}

// hubTriggers returns triggers for entities with many relations.
func hubTriggers(s *Snapshot) (out []oplog.TriggerRow) {
	for _, h := range hubs(s) {
		out = append(out, s.Trigger("relationship_insight", float64(h.n)/20, fmt.Sprintf("%s has %d relations", h.name, h.n), h.name))
	}
	return out
}

type counted struct {
	name string
	n    int
}

// hubs returns the entities with five or more outgoing relations, those with most relations first.
func hubs(s *Snapshot) (out []counted) {
	n := map[string]int{}
	for i, e := range s.Edges {
		s.yieldAt(i)
		n[e.Src]++
	}
	for name, c := range n {
		if c >= 5 {
			out = append(out, counted{name, c})
		}
	}
	slices.SortFunc(out, func(a, b counted) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	return out
}

// meanValences returns the mean valences of the recent period and of the one before it. ok means that each has three
// rows or more.
func meanValences(s *Snapshot, recent, before oplog.Time) (now, then float64, ok bool) {
	var n, m int
	for i := range s.Rows {
		s.yieldAt(i)
		switch age := s.Now - s.Rows[i].Created; {
		case age <= recent:
			now, n = now+s.Rows[i].Valence, n+1
		case age <= recent+before:
			then, m = then+s.Rows[i].Valence, m+1
		}
	}
	if n < 3 || m < 3 {
		return 0, 0, false
	}
	return now / float64(n), then / float64(m), true
}

// valenceTrigger reports that the mean valence changed within a week.
func valenceTrigger(s *Snapshot) []oplog.TriggerRow {
	now, then, ok := meanValences(s, 7*day, 30*day)
	if d := math.Abs(now - then); ok && d > .3 {
		return []oplog.TriggerRow{s.Trigger("valence_trend", d, fmt.Sprintf("mood went from %+.2f to %+.2f in a week", then, now), "")}
	}
	return nil
}

// anomalyTriggers returns triggers for entities with many values of an identity or preference relation.
func anomalyTriggers(s *Snapshot) (out []oplog.TriggerRow) {
	dst := map[[2]string]map[string]bool{}
	for i, e := range s.Edges {
		s.yieldAt(i)
		if identityRelations[e.Type] || preferenceRelations[e.Type] {
			k := [2]string{e.Src, e.Type}
			if dst[k] == nil {
				dst[k] = map[string]bool{}
			}
			dst[k][e.Dst] = true
		}
	}
	for k, values := range dst { // sorted by the caller
		if len(values) >= 3 {
			out = append(out, s.Trigger("entity_anomaly", float64(len(values))/5,
				fmt.Sprintf("%s has %d values for %s", k[0], len(values), k[1]), k[0]))
		}
	}
	return out
}

// sessionTrigger reports that the last session ended hours ago.
func sessionTrigger(s *Snapshot) []oplog.TriggerRow {
	gap := s.Now - s.LastEnd
	if s.LastEnd == 0 || gap <= day/6 {
		return nil
	}
	u := .3
	switch {
	case gap > 3*day:
		u = .7
	case gap > day:
		u = .5
	}
	return []oplog.TriggerRow{s.Trigger("session_awareness", u, fmt.Sprintf("the last session ended %d hours ago", gap/(day/24)), "")}
}
