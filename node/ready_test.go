package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
)

// TestReadyMeansCaughtUp checks that a node that starts without a leader is alive but not ready, because it cannot
// know its lag, and that it becomes ready with a leader and stays so when the leader goes.
func TestReadyMeansCaughtUp(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) { cfg.Raft.Election = rafttest.Election(3 * time.Second) })
	if _, err := c.dial(0, 1, 2).Remember(t.Context(), wire.NewRemember("before")); err != nil {
		t.Fatal(err)
	}
	c.agree()
	for i := range c.nodes {
		c.stop(i)
	}
	c.open(0)
	w := c.web(0)
	w.ok("GET", "/v1/health", nil)
	if status, out := w.send("GET", "/v1/health/ready", nil); status != http.StatusServiceUnavailable || out["ready"] != false {
		t.Errorf("alone of three: %d %v", status, out)
	}
	w.ok("POST", "/v1/recall", obj{"query": "before"}) // reads still work
	c.open(1)
	suite.Eventually(t, "a ready node", func() bool { status, _ := w.send("GET", "/v1/health/ready", nil); return status == http.StatusOK })
	c.stop(1)
	suite.Eventually(t, "the loss of the leader", func() bool { return c.nodes[0].Service().Cluster().KnownLeader().ID == nil })
	w.ok("GET", "/v1/health/ready", nil)
}

// acknowledged records the acknowledged indexes with their times, as the leader's clients know them.
type acknowledged struct {
	mu    sync.Mutex
	times []time.Time
	at    []oplog.Index
}

func (a *acknowledged) add(i oplog.Index) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times, a.at = append(a.times, time.Now()), append(a.at, i)
}

// by returns the newest index acknowledged at a time.
func (a *acknowledged) by(when time.Time) (newest oplog.Index) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, t := range a.times {
		if t.Before(when) {
			newest = max(newest, a.at[i])
		}
	}
	return newest
}

// TestARejoiningFollowerClaimsNothingItLacks polls a follower that starts, or returns after a minute of isolation,
// while its leader acknowledges writes. Its reports never contradict what it can know.
func TestARejoiningFollowerClaimsNothingItLacks(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const election = 2 * time.Second
	known := election * 6 / 10 // a follower's report is at most two leases old
	net := newNetwork()
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		cfg.Raft.Election = election
		cfg.Seams.Dial = net.dialer(i + 1)
		net.owner[cfg.Addresses.Cluster] = i + 1
	})
	leader := c.leader()
	follower := (leader + 1) % 3
	var acked acknowledged
	writing, stop := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	t.Cleanup(func() { stop(); tasks.Wait() })
	s, caller := c.service(leader)
	tasks.Go(func() {
		for i := 0; writing.Err() == nil; i++ {
			if w, err := remember(writing, s, caller, "", api.Draft{Text: fmt.Sprintf("memory %d", i)}); err == nil {
				acked.add(oplog.Index(w.Index))
			}
		}
	})
	grow := func(by int) {
		t.Helper()
		from := acked.by(time.Now())
		suite.Eventually(t, "writes without the follower", func() bool { return acked.by(time.Now()) > from+oplog.Index(by) })
	}
	url := "http://" + c.cfgs[follower].Addresses.HTTP + "/v1/health/ready"
	// poll queries the follower until it is ready, and checks each answer. since is the index that was acknowledged
	// before the follower could hear the leader again. Any follower may lack records that are acknowledged while it
	// answers: they are still on their way. Without a leader a follower keeps its last answer, so a follower that was
	// ready is judged from its first answer with a lag.
	poll := func(what string, since oplog.Index, ready bool) {
		t.Helper()
		unknown := 0
		suite.Eventually(t, "a ready follower "+what, func() bool {
			asked := time.Now()
			res, err := http.Get(url)
			if err != nil {
				return false // not listening yet
			}
			var said struct {
				Ready   bool
				Behind  *uint64
				Applied oplog.Index `json:"applied_index"`
			}
			err = json.NewDecoder(res.Body).Decode(&said)
			res.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if said.Behind == nil {
				unknown++
				if ready {
					return false
				}
			} else if due := acked.by(asked.Add(-known)); said.Applied+oplog.Index(*said.Behind) < due {
				t.Fatalf("%s: at %d it says it is %d behind, and %d was acknowledged", what, said.Applied, *said.Behind, due)
			} else {
				ready = false
			}
			if said.Ready && said.Applied < since {
				t.Fatalf("%s: ready at %d, and %d was acknowledged before it came back", what, said.Applied, since)
			}
			return said.Ready
		})
		t.Logf("%s: ready after %d answers without a lag", what, unknown)
	}
	c.stop(follower)
	grow(100)
	since := acked.by(time.Now())
	opened := make(chan struct{})
	tasks.Go(func() {
		defer close(opened)
		c.open(follower)
	})
	poll("after a restart", since, false)
	<-opened

	net.cut(follower + 1)
	suite.Eventually(t, "the follower to miss its leader",
		func() bool { return c.nodes[follower].Service().Cluster().KnownLeader().ID == nil })
	grow(100)
	since = acked.by(time.Now())
	net.cut(0)
	poll("after a partition", since, true)
	stop()
}
