package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestARefusalWhileItConnects: a node that rejects the selection of a database and names the leader is asked again.
func TestARefusalWhileItConnects(t *testing.T) {
	t.Parallel()
	var selected atomic.Bool
	p := serve(t, func(s *session, f wire.Frame) bool {
		if f.Op == wire.OpSelectDB && selected.Swap(true) {
			s.send(f, wire.OpReadonlyError,
				&wire.Error{Code: wire.CodeReadonlyNode, Message: "not the leader", Details: wire.JSON(`{"leader_addr":"192.0.2.1:7437"}`)})
			return true
		}
		s.send(f, wire.OpDBOK, &wire.DBOK{Name: "other"})
		return f.Op == wire.OpSelectDB // it hangs up at the first request
	})
	c, err := client.Dial(t.Context(), client.Config{Addrs: []string{p.addr()}, Token: "x", Database: "other"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Stats(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
