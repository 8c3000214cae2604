package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// valuesOf returns the values of one key in a list of an answer.
func valuesOf(answer obj, list, key string) string {
	var out []string
	for _, x := range answer[list].([]any) {
		out = append(out, fmt.Sprint(x.(obj)[key]))
	}
	return strings.Join(out, " ")
}

// TestTiersAsClientsSeeThem checks that by a database's policies the leader promotes used memories and forgets old
// ones in the background, and leaves other databases alone.
func TestTiersAsClientsSeeThem(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Background = engine.Background{Think: 300 * time.Millisecond} })
	w, cl := c.web(0), c.dial(0)
	old := float64(time.Now().Add(-48 * time.Hour).Unix())
	keep := func(query, text, tier string) string {
		return w.ok("POST", "/v1/remember"+query, obj{"text": text, "tier": tier, "created_at": old})["rid"].(string)
	}
	w.ok("POST", "/v1/databases", obj{"name": "other"})
	elsewhere := keep("?database=other", "scratch of another database", "working")
	for i := range 10 {
		keep("", fmt.Sprint("note number ", i), "longterm")
		keep("?database=other", fmt.Sprint("note number ", i), "longterm")
	}
	scratch, episode := keep("", "left over scratch", "working"), keep("", "went to the market", "episodic")
	over, err := cl.Remember(t.Context(),
		wire.Remember{Text: "kept over the wire", Tier: "working", CreatedAt: old, Importance: .5, HalfLife: 168})
	if err != nil {
		t.Fatal(err)
	}
	set := w.ok("POST", "/v1/admin/settings", obj{"working_ttl_secs": 3600, "promote_after": 2})
	if set["working_ttl_secs"] != 3600.0 || set["promote_after"] != 2.0 || set["episodic_ttl_secs"] != 0.0 {
		t.Errorf("settings %v", set)
	}
	tier := func(query, rid string) string {
		m := w.ok("GET", "/v1/memory/"+rid+query, nil)
		return fmt.Sprint(m["consolidation_status"], " ", m["storage_tier"])
	}
	suite.Eventually(t, "old scratch is forgotten", func() bool {
		return tier("", scratch) == "tombstoned working" && tier("", over) == "tombstoned working"
	})
	used := w.ok("POST", "/v1/remember", obj{"text": "the wifi password is on the fridge", "tier": "working"})["rid"].(string)
	for range 2 {
		q := wire.NewRecall("wifi password fridge")
		q.TopK = 1 // all that is returned is used
		if hits, _, err := cl.Recall(t.Context(), q); err != nil || len(hits) == 0 || hits[0].RID != used {
			t.Fatalf("%+v, %v", hits, err)
		}
	}
	suite.Eventually(t, "what is used goes up a tier", func() bool { // and at the next round another
		return slices.Contains([]string{"active episodic", "active longterm"}, tier("", used))
	})
	if got := tier("", episode) + ", " + tier("?database=other", elsewhere); got != "active episodic, active working" {
		t.Errorf("no policy is about these: %s", got)
	}
	for _, h := range find(t, cl, "left over scratch") {
		if h.RID == scratch {
			t.Errorf("forgotten by its tier and found: %+v", h)
		}
	}
}

// TestTimeAsClientsSeeIt checks stale and upcoming memories, profiles, and past beliefs, over HTTP and, where
// available, over the wire.
func TestTimeAsClientsSeeIt(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w, cl := c.web(0), c.dial(0)
	ago := func(days float64) float64 { return float64(time.Now().UnixMicro())/1e6 - days*86400 }
	keep := func(m obj) string { return w.ok("POST", "/v1/remember", m)["rid"].(string) }
	bees := keep(obj{"text": "Alice Chen keeps bees in Lisbon", "importance": .9, "created_at": ago(40), "domain": "home",
		"valence": .5, "namespace": "garden"})
	keep(obj{"text": "Alice Chen bought stamps", "importance": .1, "created_at": ago(40)})
	call := keep(obj{"text": "call Alice Chen back", "due_at": ago(-1.5), "temporal_kind": "reminder"})
	keep(obj{"text": "renew the passport", "due_at": ago(-300)})
	for path, want := range map[string]string{
		"/v1/stale?days=30": bees, "/v1/stale?days=60": "", "/v1/stale?days=30&namespace=garden": bees,
		"/v1/stale?days=30&namespace=default": "",
		"/v1/upcoming?days=7":                 call, "/v1/upcoming?days=1": "", "/v1/upcoming?days=7&namespace=garden": ""} {
		if got := valuesOf(w.ok("GET", path, nil), "items", "rid"); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if p := w.ok("GET", "/v1/entities/Alice%20Chen", nil); p["entity_type"] != "person" || p["memories"] != 3.0 ||
		p["depth"].(float64) <= 0 || p["average_valence"].(float64) <= 0 {
		t.Errorf("profile %v", p)
	}
	if p := w.ok("GET", "/v1/entities/Alice%20Chen?days=30", nil); p["memories"] != 1.0 {
		t.Errorf("profile of a month %v", p)
	}
	then := ago(0)
	w.ok("POST", "/v1/correct", obj{"rid": bees, "reason": "she moved", "new_text": "Alice Chen keeps bees in Porto"})
	w.ok("POST", "/v1/forget", obj{"rid": call})
	asOf := func(query string, at float64) string {
		t.Helper()
		over := w.ok("POST", "/v1/recall", obj{"query": query, "top_k": 1, "as_of": at})
		q := wire.NewRecall(query)
		q.TopK, q.AsOf = 1, at
		hits, _, err := cl.Recall(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var wired []string
		for _, h := range hits {
			wired = append(wired, h.Text)
		}
		got := valuesOf(over, "results", "text")
		if got != strings.Join(wired, " ") {
			t.Errorf("as of %.0f HTTP answers %q and the wire %q", at, got, wired)
		}
		return got
	}
	for _, x := range []struct {
		query string
		at    float64
		want  string
	}{
		{"where does Alice Chen keep bees", then, "Alice Chen keeps bees in Lisbon"},
		{"where does Alice Chen keep bees", ago(0), "Alice Chen keeps bees in Porto"},
		{"call Alice Chen back", then, "call Alice Chen back"},
		{"bees", ago(41), ""},
	} {
		if got := asOf(x.query, x.at); got != x.want {
			t.Errorf("%s, as of %.0f: %q", x.query, x.at, got)
		}
	}
	if got := asOf("call back", ago(0)); got == "call Alice Chen back" {
		t.Error("what is forgotten is believed")
	}
}

// TestSessionsAsClientsSeeThem checks that sessions are listed newest first with their memories in order, and that
// the leader ends abandoned ones.
func TestSessionsAsClientsSeeThem(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 1)
	w, cl := c.web(0), c.dial(0)
	first, err := cl.StartSession(t.Context(), wire.SessionStart{Namespace: "default", ClientID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.StartSession(t.Context(), wire.SessionStart{Namespace: "default", ClientID: "a"}); err == nil ||
		!strings.Contains(err.Error(), "session conflict: active session already exists for namespace=default, client_id=a") {
		t.Errorf("two at a time: %v", err)
	}
	var rids []string
	for i := range 3 {
		rids = append(rids,
			w.ok("POST", "/v1/remember", obj{"text": fmt.Sprintf("Alice Chen said thing %d", i), "valence": .5})["rid"].(string))
	}
	ended, err := cl.EndSession(t.Context(), first, nil)
	if err != nil || ended.MemoryCount != 3 || strings.Join(ended.Topics, " ") != "Alice Chen" {
		t.Errorf("%+v, %v", ended, err)
	}
	began := time.Now()
	second := w.ok("POST", "/v1/sessions", obj{"client_id": "a"})["session_id"].(string)
	if got := valuesOf(w.ok("GET", "/v1/sessions/"+first, nil), "memories", "rid"); got != strings.Join(rids, " ") {
		t.Errorf("the first session's memories: %s", got)
	}
	if got := valuesOf(w.ok("GET", "/v1/sessions?client_id=a", nil), "sessions", "session_id"); got != second+" "+first {
		t.Errorf("history %s", got)
	}
	c.stop(0)
	const age = 2 * time.Second // a day until here
	c.cfgs[0].Background = engine.Background{NoThink: true, Abandon: 100 * time.Millisecond, SessionAge: age}
	c.open(0)
	c.ready(0)
	suite.Eventually(t, "the second is given up", func() bool {
		w.ok("POST", "/v1/remember", obj{"text": "the log's clock goes on"})
		return valuesOf(w.ok("GET", "/v1/sessions?client_id=a", nil), "sessions", "status") == "abandoned ended"
	})
	if d := time.Since(began); d < age {
		t.Errorf("given up after %s", d)
	}
	w.ok("POST", "/v1/sessions", obj{"client_id": "a"}) // nothing is in its way
}
