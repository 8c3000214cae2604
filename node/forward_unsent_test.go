package node_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
)

// A wall lets no connection out while it is up.
type wall struct {
	mu   sync.Mutex
	up   bool
	open []net.Conn
}

func (w *wall) dial(ctx context.Context, addr string) (net.Conn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.up {
		nc.Close()
		return nil, syscall.ECONNREFUSED
	}
	w.open = append(w.open, nc)
	return nc, err
}

func (w *wall) raise() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up = true
	for _, nc := range w.open {
		if nc != nil {
			nc.Close()
		}
	}
}

// TestAWriteThatWasNeverSent checks that a follower that cannot connect to its leader says that a write did not happen,
// and not that it may have happened.
func TestAWriteThatWasNeverSent(t *testing.T) {
	t.Parallel()
	walls := make([]wall, 3)
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		cfg.Seams.Dial, cfg.Limits.ApplyTimeout = walls[i].dial, 2*time.Second
	})
	follower := (c.leader() + 1) % 3
	w := c.web(follower)
	w.ok("POST", "/v1/remember", obj{"text": "the quay is closed in March"})
	walls[follower].raise()
	for range 3 {
		status, out := w.send("POST", "/v1/remember", obj{"text": "the ferry stops at noon"})
		if status == http.StatusTemporaryRedirect || status == http.StatusServiceUnavailable { // the client may reach the leader
			return
		}
		t.Logf("HTTP %d %v", status, out) // the first attempt may go out on a connection that is ending
	}
	t.Error("a follower that sent nothing says that the write may have happened")
}
