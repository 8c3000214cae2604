package mind

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

func rows(n int, change func(int, *Row)) (out []Row) {
	for i := range n {
		r := Row{RID: fmt.Sprintf("m%03d", i), Text: fmt.Sprintf("event number %d happened", i), Type: "episodic",
			Namespace: "default", Importance: .5, HalfLife: 604800}
		change(i, &r)
		out = append(out, r)
	}
	return out
}

// TestTriggers checks that each kind of trigger is raised by its condition, and none by a quiet database.
func TestTriggers(t *testing.T) {
	now := oplog.Time(400 * day)
	quiet := rows(5, func(_ int, r *Row) { r.Created, r.Accessed, r.Importance = now, now, .4 })
	for name, s := range map[string]*Snapshot{
		"decay_review":        {Rows: rows(1, func(_ int, r *Row) { r.Importance, r.Accessed = .9, now-60*day })},
		"consolidation_ready": {Rows: rows(12, func(_ int, r *Row) { r.Created, r.Accessed = now, now })},
		"conflict_escalation": {Stats: oplog.Stats{OpenConflicts: 6}},
		"temporal_drift": {Rows: rows(1, func(_ int, r *Row) {
			r.Type, r.Created, r.Accessed, r.Importance = "semantic", now-100*day, now-40*day, .1
		})},
		"redundancy": {Rows: rows(2, func(_ int, r *Row) {
			r.Text, r.Created, r.Accessed = "the quarterly report went out on Thursday", now, now
		})},
		"relationship_insight": {Edges: edges("Alice", "knows", 5)},
		"entity_anomaly":       {Edges: edges("Alice", "lives_in", 3)},
		"valence_trend": {Rows: rows(6, func(i int, r *Row) {
			r.Created, r.Accessed, r.Valence = now-oplog.Time(i/3)*20*day, now, float64(1-i/3)
		})},
		"session_awareness": {LastEnd: now - 2*day},
	} {
		s.Now = now
		got, err := Triggers(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, x := range got {
			found = found || x.Type == name
			if x.Urgency < 0 || x.Urgency > 1 || x.Action == "" || x.Expires <= now || x.Cooldown == "" {
				t.Errorf("%s: %+v", name, x)
			}
		}
		if !found {
			t.Errorf("%s is not among %d triggers", name, len(got))
		}
	}
	if got, err := Triggers(t.Context(), &Snapshot{Now: now, Rows: quiet}); err != nil || len(got) != 0 {
		t.Errorf("a quiet database: %+v, %v", got, err)
	}
}

func edges(src, kind string, n int) (out []oplog.Edge) {
	for i := range n {
		out = append(out, oplog.Edge{ID: fmt.Sprint(src, i), Src: src, Dst: fmt.Sprint("d", i), Type: kind})
	}
	return out
}

// TestPatterns checks that each kind of pattern is found, and that a second search finds the same.
func TestPatterns(t *testing.T) {
	now := oplog.Time(400 * day)
	s := &Snapshot{Now: now, Edges: append(edges("Alice", "knows", 6), edges("Bob", "knows", 6)...),
		Rows: rows(24, func(i int, r *Row) {
			r.Created = now - oplog.Time(24-i)*day
			r.Entities, r.Domain, r.Valence = []string{"Apollo"}, []string{"work", "home"}[i%2], float64(i/12)
			if i >= 14 {
				r.Created = now - 3*day
			}
		})}
	found, err := FindPatterns(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, p := range found {
		kinds[p.Type] = true
	}
	for _, k := range []string{"co_occurrence", "temporal_cluster", "valence_trend", "topic_cluster", "entity_hub",
		"entity_bridge", "cross_domain"} {
		if !kinds[k] {
			t.Errorf("no %s among %v", k, kinds)
		}
	}
	again, err := FindPatterns(t.Context(), s)
	if err != nil || fmt.Sprint(again) != fmt.Sprint(found) {
		t.Errorf("the second look differs (%v)", err)
	}
	told := map[string]float64{}
	for _, x := range PatternTriggers(s, found) {
		told[x.Type] = max(told[x.Type], x.Urgency)
	}
	if told["surprise_connection"] < .5 || told["entity_bridge_discovered"] < .4 || told["pattern_discovered"] == 0 {
		t.Errorf("told of new patterns: %v", told)
	}
	s.Patterns = found
	if n := len(PatternTriggers(s, found)); n != 0 {
		t.Errorf("%d known patterns are told", n)
	}
}

// TestTraits checks that the first round takes the snapshot's traits, that later ones move them a little, and that
// all stay between 0 and 1.
func TestTraits(t *testing.T) {
	now := oplog.Time(400 * day)
	s := &Snapshot{Now: now, Rows: rows(70, func(i int, r *Row) { r.Created, r.Valence, r.Domain = now, 1, fmt.Sprint(i%5) })}
	first := Traits(s)
	if first.Warmth != 1 || math.Abs(first.Energy-.9) > 1e-9 || math.Abs(first.Depth-.9) > 1e-9 || first.Runs != 1 ||
		first.Confidence != .05 {
		t.Errorf("%+v", first)
	}
	s.Traits = *first
	for i := range s.Rows {
		s.Rows[i].Valence = -1
	}
	if second := Traits(s); math.Abs(second.Warmth-.85) > 1e-9 || second.Runs != 2 {
		t.Errorf("%+v", second)
	}
}

// TestLearn checks that relevant memories score higher after learning, that a generation changes little, and that too
// little feedback changes nothing.
func TestLearn(t *testing.T) {
	now := oplog.Time(400 * day)
	s := &Snapshot{Now: now, Rows: rows(40, func(i int, r *Row) {
		r.Created, r.Accessed = now-oplog.Time(i%2)*30*day, now // the relevant memories are the old ones
	})}
	for i := range 40 {
		s.Judgements = append(s.Judgements, oplog.Judgement{Query: "event happened", RID: s.Rows[i].RID, Relevant: i%2 == 1})
	}
	w := Learn(s)
	if w == nil || w.Generation != 1 || w.Recency >= DefaultWeights.Recency || DefaultWeights.Recency-w.Recency > maxChange+1e-9 {
		t.Fatalf("%+v", w)
	}
	if sum := w.Sim + w.Decay + w.Recency; math.Abs(sum-1) > 1e-9 {
		t.Errorf("shares sum to %v", sum)
	}
	s.Judgements = s.Judgements[:minJudgements-1]
	if w := Learn(s); w != nil {
		t.Errorf("learned from too little: %+v", w)
	}
}

// TestStatements checks that overlapping claims contradict each other and that succeeding claims are bounded.
func TestStatements(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	claim := func(id, dst string, from, to *float64, polarity int8) oplog.StoredClaim {
		return oplog.StoredClaim{Claim: oplog.Claim{ID: id, Namespace: "default", Src: "Acme", Type: "ceo_of", Dst: dst,
			Polarity: polarity, Modality: "asserted", ValidFrom: from, ValidTo: to, At: oplog.Time(id[1])}}
	}
	for name, c := range map[string]struct {
		claims        []oplog.StoredClaim
		found, bounds int
		priority      oplog.Priority
	}{
		"overlap":    {[]oplog.StoredClaim{claim("c1", "Ann", at(1), at(9), 1), claim("c2", "Bob", at(5), nil, 1)}, 1, 0, oplog.High},
		"succession": {[]oplog.StoredClaim{claim("c1", "Ann", at(1), nil, 1), claim("c2", "Bob", at(5), nil, 1)}, 0, 1, 0},
		"apart":      {[]oplog.StoredClaim{claim("c1", "Ann", at(1), at(4), 1), claim("c2", "Bob", at(5), nil, 1)}, 0, 0, 0},
		"told later": {[]oplog.StoredClaim{claim("c1", "Ann", at(5), nil, 1), claim("c2", "Bob", at(1), at(4), 1)}, 0, 0, 0},
		"and at last": {[]oplog.StoredClaim{claim("c1", "Ann", at(5), nil, 1), claim("c2", "Bob", at(1), at(4), 1),
			claim("c3", "Cid", at(9), nil, 1),
			claim("c4", "Dan", at(7), nil, 1)}, 1, 1, oplog.High},
		"unknown":  {[]oplog.StoredClaim{claim("c1", "Ann", nil, nil, 1), claim("c2", "Bob", nil, nil, 1)}, 1, 0, oplog.Medium},
		"polarity": {[]oplog.StoredClaim{claim("c1", "Ann", nil, nil, 1), claim("c2", "Ann", nil, nil, -1)}, 1, 0, oplog.High},
		"the same": {[]oplog.StoredClaim{claim("c1", "Ann", nil, nil, 1), claim("c2", "Ann", nil, nil, 1)}, 0, 0, 0},
	} {
		found, bounds := Statements(&Snapshot{Claims: c.claims})
		if len(found) != c.found || len(bounds) != c.bounds || len(found) > 0 && found[0].Priority != c.priority {
			t.Errorf("%s: %+v, %+v", name, found, bounds)
		}
		if name == "and at last" && (bounds[0].ID != "c1" || bounds[0].To != 7) {
			t.Errorf("%s: %+v", name, bounds)
		}
	}
	for _, c := range []struct {
		kind, modality string
		polarity       int8 // of the second claim
		dst            string
		found, minor   int
	}{
		{"leads", "asserted", 1, "Iris", 0, 1},         // a person may lead two projects
		{"born_in", "asserted", 1, "Oslo", 1, 1},       // but is born in one place only
		{"born_in", "reported", 1, "Oslo", 0, 1},       // a reported claim is at most minor
		{"reports_to", "asserted", -1, "Apollo", 1, 1}, // opposite polarity contradicts
		{"speaks", "asserted", 1, "French", 0, 0},
	} {
		read := func(id, dst string, polarity int8) oplog.StoredClaim {
			return oplog.StoredClaim{Claim: oplog.Claim{ID: id, Namespace: "default", Src: "Ann", Type: c.kind, Dst: dst,
				Polarity: polarity, Modality: c.modality, Extractor: "heuristic_v1"}}
		}
		for minor, want := range map[bool]int{false: c.found, true: c.minor} {
			found, _ := Statements(&Snapshot{Minor: minor,
				Claims: []oplog.StoredClaim{read("c1", "Apollo", 1), read("c2", c.dst, c.polarity)}})
			if len(found) != want || want > c.found && found[0].Type != "minor" {
				t.Errorf("%s %s, minor %t: %+v", c.kind, c.modality, minor, found)
			}
		}
	}
	born := func(id, dst, source string) oplog.StoredClaim {
		return oplog.StoredClaim{Claim: oplog.Claim{ID: id, Namespace: "default", Src: "Ann", Type: "born_in", Dst: dst,
			Polarity: 1, Modality: "asserted", SourceRID: source}}
	}
	for source, want := range map[string]int{"m1": 0, "m2": 1} { // a memory that contradicts itself is not reported
		if found, _ := Statements(&Snapshot{Rows: []Row{{RID: "m1"}, {RID: "m2"}},
			Claims: []oplog.StoredClaim{born("c1", "Lima", "m1"), born("c2", "Quito", source)}}); len(found) != want {
			t.Errorf("claims of m1 and %s: %+v", source, found)
		}
	}
	found, _ := Statements(&Snapshot{Edges: append(edges("Alice", "lives_in", 2), edges("Alice", "likes", 3)...)})
	if len(found) != 1 || !strings.HasPrefix(found[0].A, "edge:") {
		t.Errorf("%+v", found)
	}
}

// TestThinkingIsCancelled checks that work stops when the context is cancelled.
func TestThinkingIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &Snapshot{Rows: rows(10, func(int, *Row) {})}
	if _, err := Contradictions(ctx, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Duplicates(ctx, s, []int{0}, day, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestCategoryGrowth checks that a word that is used twice in place of databases raises a trigger.
func TestCategoryGrowth(t *testing.T) {
	var texts []string
	for i, store := range []string{"Postgres", "MySQL", "SQLite", "Surreal", "Surreal", "Odd"} {
		texts = append(texts, fmt.Sprintf("We use %s for service%d.", store, i))
	}
	s := &Snapshot{Rows: rows(len(texts), func(i int, r *Row) { r.Text = texts[i] })}
	if _, err := Contradictions(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	got := CategoryTriggers(s)
	if len(got) != 1 || got[0].Type != "gossip_expand_category" || got[0].Entity != "databases/surreal" || got[0].Urgency != .3 {
		t.Errorf("%+v", got)
	}
}

// TestLongTextsAreReadWholeOrNotMerged checks that two texts with the same beginning are not merged if they are
// longer than MaxRead.
func TestLongTextsAreReadWholeOrNotMerged(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("The release checklist begins with the backup of the database. ", 1+MaxRead/60)
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{long[:900] + " It ends on Friday.", long[:900] + " It ends on Friday.", true},
		{long + " Then comes the migration of the payments.", long + " Then the mail server is replaced.", false},
	} {
		row := func(rid, text string) Row {
			return Row{Seq: oplog.Seq(rid[1]), RID: rid, Text: text[:min(len(text), MaxRead)], Type: "episodic", Namespace: "default"}
		}
		s := &Snapshot{Rows: []Row{row("m1", c.a), row("m2", c.b)}}
		clusters, err := Duplicates(t.Context(), s, []int{0, 1}, day, nil)
		if err != nil || (len(clusters) == 1) != c.same {
			t.Errorf("texts of %d and %d bytes: %v, %v", len(c.a), len(c.b), clusters, err)
		}
		if got := redundancyTriggers(s); (len(got) == 1) != c.same {
			t.Errorf("texts of %d and %d bytes: %+v", len(c.a), len(c.b), got)
		}
	}
}
