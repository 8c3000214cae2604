package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/wire"
)

// slowSyncs is the file system of a log on a slow disk.
type slowSyncs struct{ logstore.OS }

type slowFile struct{ logstore.File }

func (f slowFile) Sync() error {
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	return f.File.Sync()
}

func (o slowSyncs) Create(name string) (logstore.File, error) {
	f, err := o.OS.Create(name)
	return slowFile{f}, err
}

func (o slowSyncs) Open(name string) (logstore.File, error) {
	f, err := o.OS.Open(name)
	return slowFile{f}, err
}

// A breakingConn ends after one in five of the entries that it sends, so that the sender does not learn their
// outcome.
type breakingConn struct{ net.Conn }

func (b breakingConn) Write(p []byte) (int, error) {
	n, err := b.Conn.Write(p)
	if f, ferr := wire.NewReader(bytes.NewReader(p), wire.MaxLength).Next(); ferr == nil && f.Op == wire.OpForward && rand.IntN(5) == 0 {
		b.Close()
	}
	return n, err
}

// TestForwardsWithDeadlines forwards a thousand writes through leaders with slow disks, while leadership moves and
// answers get lost. Half of the callers give up after a random time. Only they may get an unknown outcome; every
// other caller learns whether its write is stored, and no memory is stored twice.
func TestForwardsWithDeadlines(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Seams.LogFiles = slowSyncs{}
		cfg.Seams.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			return breakingConn{nc}, err
		}
		cfg.Limits.ApplyTimeout = suite.Patience
	})
	chaos, calm := context.WithCancel(t.Context())
	var moving, callers sync.WaitGroup
	moves := 0
	moving.Go(func() {
		for ; chaos.Err() == nil; time.Sleep(20 * time.Millisecond) {
			s, caller := c.service(c.leader())
			if _, err := api.ChangeMembers.Do(chaos, s, caller,
				&api.ChangeMembersRequest{Verb: "transfer", NodeID: uint32(rand.IntN(3) + 1)}); err == nil {
				moves++
			}
		}
	})
	const forwards, atOnce = 1000, 50
	told := make([]int, forwards) // 1: it is stored; -1: it is not
	var own int
	var mu sync.Mutex
	for first := range atOnce {
		callers.Go(func() {
			for n := first; n < forwards; n += atOnce {
				s, caller := c.service(n % 3)
				caller.Forward = true
				ctx, cancel := suite.Context(t), func() {}
				if n%2 == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(100))*time.Millisecond)
				}
				_, err := api.Remember.Do(ctx, s, caller,
					&api.RememberRequest{Draft: api.Draft{Text: fmt.Sprint("forward ", n), Importance: 0.5}})
				mu.Lock()
				switch kind := new(oplog.Error); {
				case err == nil:
					told[n] = 1
				case ctx.Err() != nil:
					own++
				case errors.As(err, &kind) && kind.Kind == oplog.Unavailable: // there is no leader, and no attempt was accepted
					told[n] = -1
				default:
					t.Errorf("forward %d: %v: %v", n, err, errors.Unwrap(err))
				}
				mu.Unlock()
				cancel()
			}
		})
	}
	callers.Wait()
	calm()
	moving.Wait()
	t.Logf("%d callers gave up, leadership moved %d times", own, moves)
	c.agree()
	times := map[string]int{}
	if err := c.nodes[0].State().Read(func(v *state.View) error {
		v.Memories(oplog.DefaultDB, 0, func(m *oplog.Memory) bool { times[m.Text]++; return true })
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	stored := 0
	for n, said := range told {
		is := times[fmt.Sprint("forward ", n)]
		if is > 1 || said > 0 && is == 0 || said < 0 && is > 0 {
			t.Errorf("forward %d is there %d times, and its caller was told %d", n, is, said)
		}
		stored += max(said, 0)
	}
	if stored < forwards/4 {
		t.Errorf("only %d writes were acknowledged: the run shows nothing", stored)
	}
}
