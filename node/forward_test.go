package node_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// A droppingConn breaks when an entry is sent, while lose returns true.
type droppingConn struct {
	net.Conn
	lose *atomic.Bool
}

func (l droppingConn) Write(b []byte) (int, error) {
	f, err := wire.NewReader(bytes.NewReader(b), wire.MaxLength).Next()
	if err == nil && f.Op == wire.OpForward && l.lose.CompareAndSwap(true, false) {
		l.Close()
		return 0, syscall.ECONNRESET
	}
	return l.Conn.Write(b)
}

// TestARefusalBehindALostAttempt sends an entry twice, of which the second is rejected. The first may still arrive,
// but is then rejected as well (oplog/state, keys.txt), so the write certainly did not happen.
func TestARefusalBehindALostAttempt(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	var lose atomic.Bool
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Seams.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			return droppingConn{nc, &lose}, err
		}
	})
	s, caller := c.service((c.leader() + 1) % 3)
	caller.Forward = true
	correct := func() error {
		text := "corrected"
		_, err := api.Correct.Do(t.Context(), s, caller, &api.CorrectRequest{RID: "nobody", Text: &text, Reason: "wrong"})
		return err
	}
	if err := correct(); !errors.Is(err, oplog.ErrNoMemory) {
		t.Fatalf("got %v", err)
	}
	lose.Store(true)
	if err := correct(); !errors.Is(err, oplog.ErrNoMemory) {
		t.Errorf("got %v", err)
	}
	if lose.Load() {
		t.Error("nothing was lost")
	}
}
