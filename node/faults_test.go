package node_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

func (c *cluster) service(i int) (*engine.Service, api.Caller) {
	c.t.Helper()
	s := c.nodes[i].Service()
	caller, err := c.nodes[i].Access().Authenticate(secret)
	if err != nil {
		c.t.Fatal(err)
	}
	return s, caller
}

func TestAFollowerComesBackBySnapshot(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Raft.SnapshotThreshold, cfg.Raft.SnapshotInterval, cfg.Raft.TrailingLogs = 32, 50*time.Millisecond, 8
	})
	away := (c.leader() + 1) % 3
	c.stop(away)
	s, caller := c.service(c.leader())
	caller.Forward = true
	for i := range 200 {
		text := fmt.Sprintf("compacted memory number%d", i)
		_, err := remember(t.Context(), s, caller, text, api.Draft{Text: text})
		for errors.Is(err, &oplog.Error{Kind: oplog.UnknownOutcome}) { // a busy machine may change leaders, so retry with the key
			_, err = remember(t.Context(), s, caller, text, api.Draft{Text: text})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	suite.Eventually(t, "a snapshot is taken", func() bool { return s.RaftStatus().SnapshotIndex > 100 })
	c.open(away)
	c.ready(away)
	c.agree()
	if r := find(t, c.dial(away), "number7"); len(r) == 0 || r[0].Text != "compacted memory number7" {
		t.Errorf("got %+v", r)
	}
}

func TestFollowersReadWhatWasWritten(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	l := c.leader()
	s, caller := c.service(l)
	for i := range 30 {
		text := fmt.Sprintf("unique%d", i)
		r, err := remember(t.Context(), s, caller, "", api.Draft{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		f, fc := c.service((l + 1 + i%2) % 3)
		fresh := commit.Freshness{Index: oplog.Index(r.Index)}
		if i%3 == 0 {
			fresh = commit.Linearizable
		}
		a, err := recall(t.Context(), f, fc, index.Query{Text: text, K: 1}, fresh)
		if err != nil || len(a.Hits) != 1 || a.Hits[0].Memory.RID != r.RIDs[0] {
			t.Fatalf("write %d: %+v, %v", i, a.Hits, err)
		}
	}
}

func TestFollowersRefuseOrForward(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	f := (c.leader() + 1) % 3
	s, caller := c.service(f)
	if _, err := remember(t.Context(), s, caller, "", api.Draft{Text: "refused"}); !errors.Is(err, &oplog.Error{Kind: oplog.NotLeader}) {
		t.Errorf("got %v", err)
	}
	caller.Forward = true
	r, err := remember(t.Context(), s, caller, "once", api.Draft{Text: "forwarded"})
	if err != nil {
		t.Fatal(err)
	}
	if r2, err := remember(t.Context(), s, caller, "once", api.Draft{Text: "forwarded"}); err != nil || r2.RIDs[0] != r.RIDs[0] ||
		!r2.Replayed {
		t.Errorf("the same key: %+v, %v", r2, err)
	}
	if _, err := remember(t.Context(), s, caller, "once", api.Draft{Text: "another"}); !errors.Is(err, oplog.ErrKeyReused) {
		t.Errorf("the same key for another text: %v", err)
	}
	if a, err := recall(t.Context(), s, caller, index.Query{Text: "forwarded", K: 1}, commit.Stale); err != nil || len(a.Hits) != 1 {
		t.Errorf("own write not read: %+v, %v", a.Hits, err)
	}
}

func TestDatabasesAndTokensAreTheSameEverywhere(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	cl := c.dial(0, 1, 2)
	id, err := cl.CreateDatabase(t.Context(), "work")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.CreateDatabase(t.Context(), "work"); !client.IsCode(err, wire.CodeDBExists) {
		t.Errorf("twice: %v", err)
	}
	if _, err := cl.CreateDatabase(t.Context(), "../escape"); !client.IsCode(err, wire.CodeInvalidPayload) {
		t.Errorf("a path as a name: %v", err)
	}
	s, caller := c.service(c.leader())
	made, err := api.CreateToken.Do(t.Context(), s, caller, &api.CreateTokenRequest{Database: "work"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Remember(t.Context(), wire.NewRemember("secret of default")); err != nil {
		t.Fatal(err)
	}
	c.agree()
	for i := range c.nodes {
		s, _ := c.service(i)
		got, err := c.nodes[i].Access().Authenticate(made.Token)
		if err != nil || uint32(got.DB) != id {
			t.Errorf("node %d: %+v, %v", i+1, got, err)
		}
		if a, err := recall(t.Context(), s, got, index.Query{Text: "secret", K: 5}, commit.Stale); err != nil || len(a.Hits) != 0 {
			t.Errorf("node %d shows another database's memory: %+v, %v", i+1, a.Hits, err)
		}
	}
	if ended, err := api.RevokeToken.Do(t.Context(), s, caller, &api.RevokeTokenRequest{Token: made.Token}); err != nil || !ended.Revoked {
		t.Fatal(ended, err)
	}
	c.agree()
	for i := range c.nodes {
		if _, err := c.nodes[i].Access().Authenticate(made.Token); err == nil {
			t.Errorf("node %d takes a revoked token", i+1)
		}
	}
}

func TestAReplicaReadsAndARemovedNodeIsGone(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		if i == 2 {
			cfg.Member.Role = raft.RoleReadReplica
			return
		}
		cfg.Member.Peers = cfg.Member.Peers[:1] // the voters know each other; the replica knows them
	})
	s, caller := c.service(c.leader())
	r, err := remember(t.Context(), s, caller, "", api.Draft{Text: "for the replica"})
	if err != nil {
		t.Fatal(err)
	}
	f, fc := c.service(2)
	a, err := recall(t.Context(), f, fc, index.Query{Text: "replica", K: 1}, commit.Freshness{Index: oplog.Index(r.Index)})
	if err != nil || len(a.Hits) != 1 {
		t.Errorf("the replica found %+v, %v", a.Hits, err)
	}
	member := func() (voter, known bool) {
		for _, m := range s.RaftStatus().Members {
			if m.ID == 3 {
				return m.Voter, true
			}
		}
		return false, false
	}
	if voter, known := member(); voter || !known {
		t.Errorf("the replica is a voter: %t, known: %t", voter, known)
	}
	if _, err := api.ChangeMembers.Do(t.Context(), s, caller, &api.ChangeMembersRequest{Verb: "remove", NodeID: 3}); err != nil {
		t.Fatal(err)
	}
	if _, known := member(); known {
		t.Error("removed, but a member")
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	suite.Full(t)
	before := runtime.NumGoroutine()
	c := start(t, 3)
	cl := c.dial(c.leader())
	if _, err := cl.Remember(t.Context(), wire.NewRemember("short-lived")); err != nil {
		t.Fatal(err)
	}
	cl.Close()
	for i := range c.nodes {
		c.stop(i)
	}
	suite.Eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before+2 })
}

// TestConnectionLimitDoesNotLeak checks that a client gets at most three of four connections, and that closed ones
// become available again.
func TestConnectionLimitDoesNotLeak(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Limits.MaxConns = 4 })
	for range 5 {
		var open []*client.Client
		for range 3 {
			cl, err := client.Dial(t.Context(), client.Config{Addrs: []string{c.nodes[0].Addrs().Wire}, Token: secret})
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, cl)
		}
		if cl, err := client.Dial(t.Context(), client.Config{Addrs: []string{c.nodes[0].Addrs().Wire}, Token: secret}); err == nil {
			cl.Close()
			t.Fatal("a fourth connection was let in")
		}
		for _, cl := range open {
			cl.Close()
		}
		suite.Eventually(t, "there is room again", func() bool {
			cl, err := client.Dial(t.Context(), client.Config{Addrs: []string{c.nodes[0].Addrs().Wire}, Token: secret})
			if err == nil {
				cl.Close()
			}
			return err == nil
		})
		suite.Eventually(t, "no client is connected",
			func() bool { return strings.Contains(c.web(0).metrics(), "cairn_connections{surface=\"wire\"} 0\n") })
	}
}

func TestEventsWithACursor(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	cl := c.dial(0)
	var first string
	for i := range 3 {
		rid, err := cl.Remember(t.Context(), wire.NewRemember(fmt.Sprint("old ", i)))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = rid
		}
	}
	got := make(chan wire.Event, 16)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- cl.Subscribe(ctx, wire.Subscribe{Events: []string{"stored"}, Cursor: 1}, func(e wire.Event) error {
			got <- e
			return nil
		})
	}()
	next := func() wire.Event {
		t.Helper()
		return suite.Receive(t, "an event", got)
	}
	if e := next(); e.EventType != "subscribed" {
		t.Fatalf("got %+v", e)
	}
	if e := next(); e.EventType != "stored" || !strings.Contains(string(e.Data), first) {
		t.Fatalf("got %+v", e)
	}
	next()
	next()
	rid, err := cl.Remember(t.Context(), wire.NewRemember("new"))
	if err != nil {
		t.Fatal(err)
	}
	if e := next(); !strings.Contains(string(e.Data), rid) {
		t.Fatalf("got %+v", e)
	}
	cancel()
	<-done
}
