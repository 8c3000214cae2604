package commit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
)

// peers answers other members from this node's log, as the service of a node does.
type peers struct{ *Log }

func (p peers) Forward(ctx context.Context, from uint32, m wire.Forward) ([]byte, error) {
	return p.Forwarded(ctx, from, m)
}
func (peers) Changed(context.Context, uint32, wire.Membership) {}
func (peers) Peer(context.Context, wire.Frame) (wire.Frame, error) {
	return wire.Frame{}, errors.New("nothing else is asked here")
}

// member is a Log with the parts of a node around it: state, index and raft.
type member struct {
	*Log
	state    *state.State
	observed atomic.Uint64 // the last index that Observe was told of
}

// open starts a member, which leads if cfg names no peers. change may change the options of the Log.
func open(t *testing.T, cfg raft.Config, change func(*Options)) *member {
	t.Helper()
	dir := t.TempDir()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	st, err := state.Open(filepath.Join(dir, "state"), state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	space, err := disk.Open(dir, 0, log)
	if err != nil {
		t.Fatal(err)
	}
	cfg.NodeID = cmp.Or(cfg.NodeID, 1)
	m := &member{state: st}
	o := Options{NodeID: cfg.NodeID, State: st, Disk: space, Logger: log, Heartbeat: 20 * time.Millisecond, ApplyTimeout: time.Minute,
		Audit:        func(_ access.Asker, _ oplog.DB, ops []oplog.Op) (kept, rows []oplog.Op) { return ops, nil },
		Observe:      func(outcomes []oplog.Outcome, _ bool) { m.note(outcomes) },
		OnLeadership: func(bool) {},
		NoQuorum:     func() (why, until string) { return "", "" },
		Fail:         func(err error) { t.Error(err) }}
	if change != nil {
		change(&o)
	}
	m.Log = New(o)
	x, at, err := index.Open(t.Context(), index.Config{Dir: filepath.Join(dir, "index"), State: st, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	m.SetIndex(x, at)
	cfg.Dir, cfg.NoSync, cfg.Logger, cfg.Secret = filepath.Join(dir, "raft"), true, log, "secret"
	cfg.Heartbeat, cfg.Election = cmp.Or(cfg.Heartbeat, 50*time.Millisecond), cmp.Or(cfg.Election, rafttest.Election(200*time.Millisecond))
	cfg.Hello = func() wire.RaftHello {
		return wire.RaftHello{EntryMin: oplog.RecordVersion, EntryMax: oplog.RecordVersion, StateMin: snapshot.Min,
			StateMax: snapshot.Max, Reads: oplog.Reads()}
	}
	cfg.Handler = peers{m.Log}
	r, err := raft.Open(t.Context(), cfg, m.StateMachine())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	t.Cleanup(func() { // in the order of a node: applying, raft, tasks
		m.Stop()
		r.Close()
		cancel()
		tasks.Wait()
	})
	m.Start(r, func(_ string, task func(context.Context) error) {
		tasks.Go(func() {
			if err := task(ctx); ctx.Err() == nil {
				t.Error(err)
			}
		})
	})
	return m
}

func (m *member) note(outcomes []oplog.Outcome) {
	for _, o := range outcomes {
		m.observed.Store(uint64(o.Index))
	}
}

// startLeader starts a member that leads its own cluster of one, and creates the cluster.
func startLeader(t *testing.T, change func(*Options)) *member {
	t.Helper()
	m := open(t, raft.Config{Alone: true, Addr: "127.0.0.1:0"}, change)
	suite.Eventually(t, "a leader of a cluster of one", m.Leads)
	m.propose(t, oplog.Entry{Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}})
	return m
}

func (m *member) propose(t *testing.T, e oplog.Entry) oplog.Outcome {
	t.Helper()
	o, err := m.Propose(t.Context(), wire.Asker{}, e, false)
	if err != nil || o.Err != nil {
		t.Fatal(err, o.Err)
	}
	return o
}

func remember(rid string) oplog.Entry {
	return oplog.Entry{DB: oplog.DefaultDB, Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: rid, Text: "memory " + rid,
		Namespace: "default", Created: 1}}}}
}

// TestAnEntryIsReadable: the outcome of a proposal names an index. After waiting for it, a reader finds the entry,
// the feed has reported it, and before that the observer had it.
func TestAnEntryIsReadable(t *testing.T) {
	t.Parallel()
	m := startLeader(t, nil)
	sub := m.Subscribe()
	defer sub.Close()
	o := m.propose(t, remember("m1"))
	if err := m.Fresh(t.Context(), Freshness{Index: o.Index}); err != nil {
		t.Fatal(err)
	}
	if got := oplog.Index(m.observed.Load()); got < o.Index {
		t.Errorf("observed up to %d, readable up to %d", got, o.Index)
	}
	if err := m.state.Read(func(v *state.View) error {
		if _, ok := v.Memory(oplog.DefaultDB, "m1"); !ok {
			t.Error("the memory is not in the state")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for batch := range sub.C {
		outcomes := sub.Take(batch)
		if last := outcomes[len(outcomes)-1]; last.Index >= o.Index {
			break
		}
	}
	if err := m.Fresh(t.Context(), Linearizable); err != nil {
		t.Error(err)
	}
	if m.Indexed() < o.Index || m.Applied() < m.Indexed() {
		t.Errorf("applied %d, indexed %d, proposed %d", m.Applied(), m.Indexed(), o.Index)
	}
}

// TestAuditSharesTheEntry: the audit rows of the caller's node are in the same log entry as the change.
func TestAuditSharesTheEntry(t *testing.T) {
	t.Parallel()
	m := startLeader(t, func(o *Options) {
		o.Audit = func(by access.Asker, _ oplog.DB, ops []oplog.Op) (kept, rows []oplog.Op) {
			return ops, []oplog.Op{&oplog.Audit{By: by.By, What: "test", Node: by.Node, At: 1}}
		}
	})
	o, err := m.Propose(t.Context(), wire.Asker{By: "alice"}, remember("m1"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.state.Read(func(v *state.View) error {
		for _, a := range v.Audits(10) {
			if a.Index == o.Index && a.By == "alice" && a.Node == 1 {
				return nil
			}
		}
		return errors.New("no audit row has the entry's index")
	}); err != nil {
		t.Error(err)
	}
}

// TestForwardedEntriesAreChecked: an entry from another member is decoded before it enters the log, and must not name
// another member's address.
func TestForwardedEntriesAreChecked(t *testing.T) {
	t.Parallel()
	foreign, err := oplog.Entry{Ops: []oplog.Op{&oplog.Advertise{Node: 3, Wire: "127.0.0.1:1"}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		body []byte
		want error
	}{
		{"nothing", nil, errUnreadable},
		{"no entry", []byte{0xc1}, errUnreadable},
		{"nested too deep", bytes.Repeat([]byte{0x91}, 1<<20), errUnreadable},
		{"another's address", foreign, &oplog.Error{Kind: oplog.Denied}},
	} {
		if _, err := decodeForwarded(2, tc.body); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
	}
	if _, err := decodeForwarded(3, foreign); err != nil {
		t.Errorf("a member's own address: %v", err)
	}
}

// TestASlowSubscriberLosesItsPlace: the feed does not wait for subscribers. It closes the channel of a subscriber
// that receives nothing, and a subscriber that keeps up misses nothing.
func TestASlowSubscriberLosesItsPlace(t *testing.T) {
	t.Parallel()
	f := newFeed()
	slow, fast := f.subscribe(), f.subscribe()
	for i := range feedBuffer + 1 {
		f.publish([]oplog.Outcome{{Index: oplog.Index(i + 1)}}, 1)
		if got := fast.Take(<-fast.C); got[0].Index != oplog.Index(i+1) {
			t.Fatalf("got %d, want %d", got[0].Index, i+1)
		}
	}
	n := 0
	for range slow.C {
		n++
	}
	if n != feedBuffer || f.subscribers() != 1 {
		t.Errorf("%d batches before the end, %d subscribers", n, f.subscribers())
	}
	f.publish([]oplog.Outcome{{Index: 100}}, feedBytes+1) // alone it fits
	f.publish([]oplog.Outcome{{Index: 101}}, 1)
	if f.subscribers() != 0 {
		t.Error("a subscriber keeps more bytes than the bound")
	}
	slow.Close()
	fast.Close()
}
