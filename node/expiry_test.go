package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// raw sends a request and returns the whole answer.
func (w *web) raw(method, path, body string) string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := asSent.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(all)
}

// readsContaining calls each read operation about a memory, and returns those whose answers contain it.
func (w *web) readsContaining(rid, word string) (found []string) {
	w.t.Helper()
	about := map[string]any{"rid": rid, "query": word, "question": word, "session_id": "talk", "id": "talk", "name": "Ada",
		"entity": "Ada", "namespace": "default",
		"as_of": time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "limit": 50, "top_k": 50, "days": 30}
	for _, op := range api.Ops {
		if op.HTTP == "" || op.Scope != api.Read || op.Path() == "/v1/events" {
			continue
		}
		path, body := op.Path(), obj{}
		for name, value := range map[string]string{"rid": rid, "id": "talk", "name": "Ada"} {
			path = strings.ReplaceAll(path, "{"+name+"}", value)
		}
		params := url.Values{}
		for _, f := range op.InQuery() {
			if v, ok := about[f.Name].(string); ok && f.Name != "namespace" {
				params.Set(f.Name, v)
			}
		}
		for _, f := range op.InBody() {
			if v, ok := about[f.Name]; ok && (f.Name != "as_of" || f.Must) {
				body[f.Name] = v
			}
		}
		if len(params) > 0 {
			path += "?" + params.Encode()
		}
		text := ""
		if op.Method() != http.MethodGet {
			raw, err := json.Marshal(body)
			if err != nil {
				w.t.Fatal(err)
			}
			text = string(raw)
		}
		answer := w.raw(op.Method(), path, text)
		if strings.Contains(answer, rid) && !strings.Contains(answer, `"code":"`) || strings.Contains(answer, word+" ") {
			found = append(found, op.Name)
		}
	}
	return found
}

// TestWhatHasExpiredIsNotStored checks that a memory whose expiry has passed is rejected. A repeated request gets its
// original answer even after the memory's expiry.
func TestWhatHasExpiredIsNotStored(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, about := range []obj{{}, {"idempotency_key": "k"}} {
		about["text"], about["expires_at"] = "the offer ends with the year", "2020-12-31"
		status, a := w.send("POST", "/v1/remember", about)
		if status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(a["error"]), "2020-12-31T00:00:00Z is in the past") {
			t.Errorf("%v: %d %v", about, status, a)
		}
	}
	w.ok("POST", "/v1/remember", obj{"text": "a pin lasts", "expires_at": "2020-12-31", "pin": true})
	until := time.Now().Add(300 * time.Millisecond)
	soon := obj{"text": "the kettle is on", "expires_at": until.UTC().Format(time.RFC3339Nano), "idempotency_key": "kettle"}
	rid := w.ok("POST", "/v1/remember", soon)["rid"]
	suite.Eventually(t, "a time that is over", func() bool { return time.Now().After(until) })
	if again := w.ok("POST", "/v1/remember", soon); again["rid"] != rid {
		t.Errorf("repeated, it is %v, first it was %v", again["rid"], rid)
	}
}

// TestNoReadHasAnExpiredMemory calls every read operation before and after a memory's expiry. No sweep runs: an entry
// moves the log's time past the expiry.
func TestNoReadHasAnExpiredMemory(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Background.Sweep, cfg.Background.NoThink = time.Hour, true })
	w := c.web(0)
	rid := w.ok("POST", "/v1/remember",
		obj{"text": "Ada brings zwieback to the harbor today", "session_id": "talk",
			"due_at": time.Now().Add(time.Hour).Unix(), "importance": .9})["rid"].(string)
	w.ok("POST", "/v1/correct", obj{"rid": rid, "reason": "more", "new_text": "Ada brings zwieback to the harbor today and tomorrow"})
	before := w.readsContaining(rid, "zwieback")
	for _, name := range []string{"recall", "recall_as_of", "memory", "memories", "digest", "chronology", "upcoming",
		"records", "session", "export", "timeline", "revisions", "current"} {
		if !slices.Contains(before, name) {
			t.Errorf("%s does not show the memory while it lasts: %v", name, before)
		}
	}
	then := time.Now().UTC().Format(time.RFC3339Nano)
	w.ok("POST", "/v1/correct", obj{"rid": rid, "reason": "it was yesterday", "new_expires_at": "2020-01-01"})
	if after := w.readsContaining(rid, "zwieback"); len(after) > 0 {
		t.Errorf("still there: %v", after)
	}
	if was := w.raw("POST", "/v1/recall", `{"query":"zwieback","as_of":"`+then+`"}`); !strings.Contains(was, rid) {
		t.Errorf("the past has forgotten it: %s", was)
	}
	if st := w.ok("GET", "/v1/stats", nil); st["active_memories"] != 0.0 || st["tombstoned_memories"] != 1.0 {
		t.Errorf("counted: %v", st)
	}
}

// expiry returns a memory's expiry from a node's state, which does not renew it; 0 if it has none.
func (c *cluster) expiry(i int, rid string) (at oplog.Time) {
	c.t.Helper()
	_, caller := c.service(i)
	if err := c.nodes[i].State().Read(func(v *state.View) error {
		if m, ok := v.Memory(caller.DB, rid); ok {
			at = m.Expires
		}
		return nil
	}); err != nil {
		c.t.Fatal(err)
	}
	return at
}

// shownExpiry returns a memory's expiry as GET shows it; 0 for never.
func (w *web) shownExpiry(rid string) float64 {
	w.t.Helper()
	at, _ := w.ok("GET", "/v1/memory/"+rid, nil)["expires_at"].(float64)
	return at
}

// TestMemoriesExpireWhereNobodyWrites checks that the leader's sweep moves the log's time. Subscribers are notified;
// pinned memories stay, and so do memories that are read, unless the read requests no reinforcement.
func TestMemoriesExpireWhereNobodyWrites(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Background.Sweep, cfg.Background.Reinforce = 20*time.Millisecond, 20*time.Millisecond
	})
	w := c.web(0)
	keep := func(o obj) string { return w.ok("POST", "/v1/remember", o)["rid"].(string) }
	events := w.listen("?type=forgotten")
	if _, name, _ := events.next(); name != "subscribed" {
		t.Fatalf("the first event is %s", name)
	}
	pinned := keep(obj{"text": "the harbor is open", "ttl": .2, "pin": true})
	got := keep(obj{"text": "the bakery is open", "ttl": 600, "refresh_on_read": 7200})
	recalled := keep(obj{"text": "the library is closed", "ttl": 600, "refresh_on_read": 7200})
	passedOver := keep(obj{"text": "the museum is shut", "ttl": 600, "refresh_on_read": 7200})
	gone := keep(obj{"text": "the ferry is late", "ttl": .2})
	if _, name, data := events.next(); name != "forgotten" || data["id"] != gone {
		t.Errorf("%s %v, want that %s was forgotten", name, data, gone)
	}
	if status, _ := w.send("GET", "/v1/memory/"+gone, nil); status != http.StatusNotFound {
		t.Errorf("the ferry: %d", status)
	}
	if status, _ := w.send("GET", "/v1/memory/"+pinned, nil); status != http.StatusOK {
		t.Errorf("the pinned memory: %d", status)
	}
	w.ok("POST", "/v1/recall", obj{"query": "museum", "skip_reinforce": true})
	w.ok("POST", "/v1/recall", obj{"query": "library"})
	late := float64(time.Now().Add(time.Hour).Unix())
	suite.Eventually(t, "the recalled memory to be renewed", func() bool {
		return c.expiry(0, recalled).Seconds() > late
	})
	if c.expiry(0, passedOver).Seconds() > late {
		t.Error("a recall that strengthens nothing has renewed a memory")
	}
	suite.Eventually(t, "the memory that was read by its id to be renewed", func() bool { return w.shownExpiry(got) > late })
}

// TestExpiryIsToldToNarrowSubscribers checks that a subscriber bound to a namespace, or to some memories, is notified
// of their expiry.
func TestExpiryIsToldToNarrowSubscribers(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Background.Sweep = 20 * time.Millisecond })
	w := c.web(0)
	bound := w.with(w.createToken(obj{"label": "harbor", "scopes": []string{"read", "write"}, "namespaces": []string{"harbor"}}))
	all := map[string]*listener{"bound": bound.listen("?type=forgotten"), "filter": w.listen(`?type=forgotten&filter={"kind":"ferry"}`)}
	for _, l := range all {
		if _, name, _ := l.next(); name != "subscribed" {
			t.Fatalf("the first event is %s", name)
		}
	}
	gone := w.ok("POST", "/v1/remember",
		obj{"text": "the ferry is late", "ttl": .2, "namespace": "harbor", "attributes": obj{"kind": "ferry"}})["rid"]
	for who, l := range all {
		if _, name, data := l.next(); name != "forgotten" || data["id"] != gone {
			t.Errorf("%s: %s %v, want that %s was forgotten", who, name, data, gone)
		}
	}
}

// TestExpiryOnAFollowerWhoseLeaderDies checks that a memory expires on time on every node although the leader that
// would sweep it has died.
func TestExpiryOnAFollowerWhoseLeaderDies(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Raft.Election = rafttest.Election(3 * time.Second)
		cfg.Background.Sweep = 20 * time.Millisecond
	})
	first := c.leader()
	w := c.web(first)
	const lasts = 6 * time.Second // longer than an election
	rid := w.ok("POST", "/v1/remember",
		obj{"text": "Ada brings zwieback to the harbor", "ttl": lasts.Seconds(), "session_id": "talk"})["rid"].(string)
	stays := w.ok("POST", "/v1/remember", obj{"text": "Bob brings zwieback as well"})["rid"].(string)
	c.agree()
	due := c.expiry(first, rid)
	c.stop(first)
	for i := range c.nodes {
		if i == first {
			continue
		}
		f := c.web(i)
		suite.Eventually(t, "the memory to expire on a node that is left", func() bool {
			found := f.raw("POST", "/v1/recall", `{"query":"zwieback","skip_reinforce":true}`)
			now := c.nodes[i].State().Last().Time()
			switch there := strings.Contains(found, rid); {
			case !strings.Contains(found, stays):
				t.Fatalf("node %d: %s", i+1, found)
			case there:
				return false
			case now < due:
				t.Fatalf("node %d: gone at %v by the log's time, due at %v", i+1, now.Time(), due.Time())
			}
			return true
		})
		if after := f.readsContaining(rid, "to the harbor"); len(after) > 0 {
			t.Errorf("node %d: still there: %v", i+1, after)
		}
	}
	c.open(first)
	c.ready(first)
	c.agree()
	if after := c.web(first).readsContaining(rid, "to the harbor"); len(after) > 0 {
		t.Errorf("the first leader, back: still there: %v", after)
	}
}

// TestExpiryFollowsNoClockThatIsOff sets the leader's clock seventy years ahead, and then behind. Memories expire by
// the log's time, on which the members agree.
func TestExpiryFollowsNoClockThatIsOff(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	skews := make([]atomic.Int64, 3)
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		cfg.Raft.Election = rafttest.Election(3 * time.Second)
		cfg.Background.Sweep = 20 * time.Millisecond
		cfg.Seams.Now = func() time.Time { return time.Now().Add(time.Duration(skews[i].Load())) }
	})
	keep := func(w *web, text string, ttl float64) (rid string) {
		t.Helper()
		suite.Eventually(t, "a node to take or pass on a write while leadership moves", func() bool {
			status, out := w.send("POST", "/v1/remember", obj{"text": text, "ttl": ttl})
			rid, _ = out["rid"].(string)
			return status == http.StatusOK
		})
		return rid
	}
	hour := keep(c.web(c.leader()), "the harbor is open for an hour", 3600)
	for name, off := range map[string]time.Duration{"ahead": 70 * 365 * 24 * time.Hour, "behind": -70 * 365 * 24 * time.Hour} {
		i := c.leader()
		skews[i].Store(int64(off))
		w := c.web(i) // accepts the write, or forwards it
		short := keep(w, "the bakery is open for a moment, says one whose clock is "+name, .5)
		long := keep(w, "the library is open for an hour, says one whose clock is "+name, 3600)
		suite.Eventually(t, "a memory to expire while the clock is "+name, func() bool {
			status, _ := c.web(i).send("GET", "/v1/memory/"+short, nil)
			return status == http.StatusNotFound
		})
		c.agree()
		for k := range c.nodes {
			for _, rid := range []string{hour, long} {
				if at := c.expiry(k, rid); at == 0 || time.Until(at.Time()) > time.Hour+time.Minute {
					t.Errorf("%s: node %d: a memory of an hour expires at %v", name, k+1, at.Time())
				}
			}
		}
		skews[i].Store(0)
		suite.Eventually(t, "a right clock", func() bool {
			s, _ := c.service(i)
			return !s.Cluster().Status(t.Context()).ClockOff
		})
	}
}
