package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// plantData stores data of every kind that an aggregate can show: in each of two namespaces, about both, and outside
// of all. Each kind of place has its own word.
func plantData(t *testing.T, propose func(...oplog.Op), namespaces ...string) {
	t.Helper()
	now := oplog.At(time.Now())
	for i, ns := range namespaces {
		word := "Word" + ns
		rid := func(n int) string { return fmt.Sprintf("%s-%d", ns, n) }
		for n := range 3 {
			propose(&oplog.Remember{Content: oplog.Content{RID: rid(n), Text: fmt.Sprintf("%s drinks tea %d", word, n),
				Namespace: ns, Path: []string{"/k", "", ""}[n],
				Type: "semantic", Domain: word, Source: word, Importance: .9, HalfLife: 1,
				Created: now - 400*24*3600*1e6 - oplog.Time(n+10*i),
				Due:     now + 3600*1e6, Extractor: 1, Attributes: fmt.Appendf(nil, `{"of":%q}`, word)},
				Entities: []oplog.Mention{{Name: word, Type: "person"}, {Name: "Shared", Type: "person"}}})
		}
		for n, kind := range []string{"turn", "task", "turn", "task"} {
			propose(&oplog.Remember{Content: oplog.Content{RID: rid([]int{3, 4, 6, 7}[n]), Text: word + " says tea",
				Namespace: ns, Path: fmt.Sprintf("/.%ss/%d", kind, n), Type: kind, Importance: .1, HalfLife: 1, Unsearchable: true,
				Created: now - 400*24*3600*1e6, Attributes: []byte(`{"priority":"low"}`)}})
		}
		propose(&oplog.Remember{Held: true,
			Content: oplog.Content{RID: rid(5), Text: word + " waits", Namespace: ns, Created: now - 400*24*3600*1e6,
				Stamp: oplog.Stamp{Trust: oplog.TrustWeb}}})
		propose(&oplog.Claim{ID: rid(9), Namespace: ns, Src: "Shared", Type: word, Dst: word, Polarity: 1,
			Modality: "asserted", Extractor: word, Band: "high", Weight: 1, At: now})
		propose(&oplog.SessionStart{ID: "s" + word, Namespace: ns, Client: word, At: now})
		propose(&oplog.SessionEnd{ID: "s" + word, Summary: word, At: now})
		propose(&oplog.Cognition{At: now,
			Conflicts: []oplog.ConflictRow{{ID: "c" + word, Type: "preference", A: rid(0), B: rid(1), Entity: word,
				Namespace: ns, Reason: word, Detected: now}},
			Triggers: []oplog.TriggerRow{{ID: "t" + word, Type: "redundancy", Reason: word,
				Sources: []string{rid(0), rid(1)}, Entity: word, Created: now, Expires: now * 2, Cooldown: word},
				{ID: "n" + word, Type: "relationship_insight", Reason: "Nowhere", Created: now, Expires: now * 2, Cooldown: "none" + word}},
			Patterns: []oplog.Pattern{{Key: word, Type: "topic_cluster", Description: word, Confidence: .9,
				Sources: []string{rid(0)}, Entities: []string{word}},
				{Key: "none" + word, Type: "entity_hub", Description: "Nowhere", Confidence: .9}}})
	}
	all := oplog.Cognition{At: now} // about memories of both
	all.Triggers = []oplog.TriggerRow{{ID: "both" + namespaces[0], Type: "redundancy", Reason: "Both",
		Sources: []string{namespaces[0] + "-0", namespaces[1] + "-0"}, Created: now, Expires: now * 2, Cooldown: "both" + namespaces[0]}}
	all.Patterns = []oplog.Pattern{{Key: "both" + namespaces[0], Type: "topic_cluster", Description: "Both", Confidence: .9,
		Sources: []string{namespaces[0] + "-0", namespaces[1] + "-0"}}}
	propose(&all)
}

// TestNamespacesHold calls every read operation that accepts a namespace for one of two namespaces. The answer must
// have the namespace's own words, and none of the other namespace, of both together, or of neither.
func TestNamespacesHold(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	plantData(t, func(ops ...oplog.Op) {
		if err := n.Service().Propose(t.Context(), c, ops...); err != nil {
			t.Fatal(err)
		}
	}, "Alder", "default")
	if err := n.Service().WaitIndexed(t.Context()); err != nil {
		t.Fatal(err)
	}
	// operations whose answers are numbers, or about an attribute that no memory has
	silent := map[string]bool{api.Personality.Name: true, api.Stats.Name: true, api.Count.Name: true, api.Compare.Name: true,
		api.Values.Name: true}
	asked := []string{}
	for _, op := range api.Ops {
		takes := op.Takes()
		if op.Scope != api.Read && !op.Reads || op.HTTP == "" ||
			!slices.ContainsFunc(takes, func(f field.Field) bool { return f.Name == "namespace" && !f.Idle }) {
			continue
		}
		asked = append(asked, op.Name)
		for _, ns := range []string{"Alder", "default", ""} {
			if ns == "" && op != api.Digest.Op { // a digest without a namespace is of the default one
				continue
			}
			own, other := "Word"+ns, "WordAlder"
			if ns == "Alder" {
				other = "Worddefault"
			} else if ns == "" {
				own = "Worddefault"
			}
			given := map[string][]string{"namespace": {ns}, "limit": {"1000"}, "name": {"Shared"},
				"query": {"who drinks tea"}, "days": {"30"}, "status": {"all"},
				"min_count": {"1"}, "max_avg_top_score": {"1e9"}, "include_gaps": {"true"}, "max_gaps": {"100"}, "verbose": {"true"}}
			for name := range given {
				if !slices.ContainsFunc(takes, func(f field.Field) bool { return f.Name == name && f.Kind.Enum == nil }) {
					delete(given, name)
				}
			}
			for _, f := range takes {
				switch {
				case f.Must && f.Name == "as_of":
					given[f.Name] = []string{time.Now().UTC().Format(time.RFC3339)}
				case f.Must && f.Name == "key":
					given[f.Name] = []string{"/k"}
				case f.Name == "full":
					given[f.Name] = []string{"true"}
				case f.Must && f.Name == "entity":
					given[f.Name] = []string{"Shared"}
				case f.Must && f.Name == "attribute":
					given[f.Name] = []string{"none"}
				}
			}
			if op == api.Profile.Op {
				delete(given, "days")
			}
			request := op.New()
			if err := takes.DecodeText(request, given, false); err != nil {
				t.Fatalf("%s: %v", op.Name, err)
			}
			if op == api.Gaps.Op || op == api.Digest.Op { // what they list was asked before
				for _, at := range []string{"Alder", "default"} {
					if _, err := api.Recall.Do(t.Context(), n.Host(), c,
						&api.RecallRequest{Question: api.Question{Text: "Word" + at + " drinks", Namespace: at, K: 1}}); err != nil {
						t.Fatal(err)
					}
					if _, err := api.Recall.Do(t.Context(), n.Host(), c,
						&api.RecallRequest{Question: api.Question{Text: "Word" + at + " drinks", Namespace: at, K: 1}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			answer, err := n.Host().Do(t.Context(), c, op, request)
			if err != nil {
				t.Errorf("%s of %q: %v", op.Name, ns, err)
				continue
			}
			b, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			said := string(b)
			for _, foreign := range []string{other, "Both", "Nowhere"} {
				if strings.Contains(said, foreign) {
					t.Errorf("%s of %q tells of %s: %s", op.Name, ns, foreign, said)
				}
			}
			if !strings.Contains(said, own) && !silent[op.Name] {
				t.Errorf("%s of %q does not tell of %s: %s", op.Name, ns, own, said)
			}
		}
	}
	for _, must := range []string{"digest", "gaps", "conflicts", "triggers", "triggers_history", "triggers_deliver",
		"patterns", "entity", "entities", "personality", "stats", "recall", "memories"} {
		if !slices.Contains(asked, must) {
			t.Errorf("%s takes no namespace", must)
		}
	}
	alder, err := api.Stats.Do(t.Context(), n.Host(), c, &api.StatsRequest{Namespace: "Alder"})
	if err != nil {
		t.Fatal(err)
	}
	if want := (api.Counters{Active: 7, Entities: 2, Conflicts: 1}); *alder != want { // its trigger was delivered above
		t.Errorf("numbers of a namespace: %+v, want %+v", *alder, want)
	}
}
