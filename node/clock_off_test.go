package node_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestTimesFollowTheMembersClock checks that creation times, the expiry of tokens and expressions such as "the last
// hour" follow the cluster's clock, not that of the queried node.
func TestTimesFollowTheMembersClock(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const ahead = 3 * time.Hour
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		shortElections(i, cfg)
		cfg.Seams.Now = func() time.Time { return time.Now().Add(ahead) }
	})
	for i := range c.nodes { // their own clocks, which must not matter, are three hours behind
		w := c.web(i)
		suite.Eventually(t, "the members' clock on this node", func() bool {
			status, _ := w.send("POST", "/v1/admin/tokens", obj{"expires_at": time.Now().Add(ahead - time.Minute).UTC().Format(time.RFC3339)})
			return status == http.StatusBadRequest
		})
		until := time.Now().Add(ahead + 30*time.Second).UTC().Format(time.RFC3339Nano)
		token := w.ok("POST", "/v1/admin/tokens", obj{"expires_at": until})["token"].(string)
		rid := w.ok("POST", "/v1/remember", obj{"text": "the harbor is open"})["rid"].(string)
		stored := w.ok("GET", "/v1/memory/"+rid+"?consistency=linearizable", nil)
		if at := time.UnixMicro(int64(stored["created_at"].(float64) * 1e6)); time.Until(at) < ahead-time.Minute || time.Until(at) > ahead {
			t.Errorf("node %d: what was just stored is of %s", i+1, at)
		}
		mine := *w
		mine.token = token
		hits := mine.ok("POST", "/v1/recall", obj{"query": "what was said in the last hour?", "consistency": "linearizable"})["results"].([]any)
		if len(hits) == 0 {
			t.Errorf("node %d does not find what was said in the last hour", i+1)
		}
		w.ok("POST", "/v1/databases", obj{"name": "harbor" + string(rune('a'+i))})
		for path, list := range map[string]string{"/v1/databases": "databases", "/v1/admin/control-snapshot": "tokens",
			"/v1/admin/audit": "audit"} {
			var newest time.Time
			for _, row := range w.ok("GET", path+"?consistency=linearizable", nil)[list].([]any) {
				at, err := time.Parse(time.DateTime, fmt.Sprint(row.(obj)["created_at"]))
				if seconds, ok := row.(obj)["at"].(float64); ok {
					at, err = time.UnixMicro(int64(seconds*1e6)), nil
				}
				if err != nil {
					t.Fatal(err)
				}
				if at.After(newest) {
					newest = at
				}
			}
			if time.Until(newest) < ahead-time.Minute || time.Until(newest) > ahead {
				t.Errorf("node %d: what was just made is of %s in %s", i+1, newest, path)
			}
		}
	}
}

// TestALoneNodeFollowsItsClock checks that a single node follows its own clock at once when a suspended machine
// resumes, because there is no better clock.
func TestALoneNodeFollowsItsClock(t *testing.T) {
	t.Parallel()
	var jump atomic.Int64
	c := startWith(t, 1, func(i int, cfg *node.Config) {
		shortElections(i, cfg)
		cfg.Seams.Now = func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
	})
	w := c.web(0)
	w.ok("POST", "/v1/remember", obj{"text": "the harbor is open"})
	jump.Store(int64(8 * time.Hour))
	rid := w.ok("POST", "/v1/remember", obj{"text": "the harbor is closed"})["rid"].(string)
	stored := w.ok("GET", "/v1/memory/"+rid+"?consistency=linearizable", nil)
	if at := time.UnixMicro(int64(stored["created_at"].(float64) * 1e6)); time.Until(at) < 7*time.Hour {
		t.Errorf("eight hours later, what was just stored is of %s", at)
	}
}
