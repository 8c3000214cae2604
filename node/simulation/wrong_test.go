package simulation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/raft/peertest"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// A wrong trigger makes a guard act, of those that take a vote, a state or a log away (raft/DESIGN.md), though nothing
// is wrong with the member that it guards.
type wrongTrigger struct {
	pull func(w *wrong)
	says string // in the log of the members that are not hurt; empty: nothing need be said
	hurt bool   // the guard may act on one member: it keeps its files, and comes back whole
}

// wrong is a cluster whose third node is stopped, and in the test's hands.
type wrong struct {
	*cluster
	log    *logged
	term   uint64
	last   raft.StateSum // of the state of the others, at the index that all have
	held   wire.CompareOK
	leader int
}

type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const third = 2

var wrongTriggers = map[string]wrongTrigger{
	"a request of one member contradicts what is applied": {says: "a majority agrees with this node, the peer is ignored",
		pull: func(w *wrong) {
			w.append(third, wire.RaftAppend{Term: w.term + 1, PrevIndex: w.last.Index, PrevTerm: w.held.Term + 1}, 0, 1)
		}},
	"a bit changes in what the leader sends": {says: "a majority agrees with this node, the peer is ignored", pull: func(w *wrong) {
		w.append(w.leader, wire.RaftAppend{Term: w.term, PrevIndex: w.last.Index, PrevTerm: w.held.Term ^ 1}, 1-w.leader)
	}},
	"a record is garbage": {says: "unreadable log record", pull: func(w *wrong) {
		w.append(third, wire.RaftAppend{Term: w.term + 1, PrevIndex: w.last.Index, PrevTerm: w.held.Term, Commit: w.last.Index + 1,
			Entries: []wire.RaftEntry{{Index: w.last.Index + 1, Term: w.term + 1, Data: []byte("garbage")}}}, 0, 1)
	}},
	"a member says that others acknowledged what they lack": {says: "the receipt is not this node's", pull: func(w *wrong) {
		liar := w.peer(third, wire.RaftHello{AckTerm: w.term + 1, AckIndex: 1 << 30, Receipt: "false"})
		defer liar.Close()
		w.must(errors.Join(liar.Hello(w.t.Context(), w.addr(0), transport.ForAsk), liar.Hello(w.t.Context(), w.addr(1), transport.ForAsk)))
	}},
	"a member says that records are acknowledged which the others lack": {says: "acknowledged records are lost, or the peer is wrong",
		pull: func(w *wrong) {
			liar := w.peer(third, wire.RaftHello{CommitTerm: w.term, CommitIndex: w.last.Index + 1000})
			defer liar.Close()
			w.must(errors.Join(liar.Hello(w.t.Context(), w.addr(0), transport.ForAsk), liar.Hello(w.t.Context(), w.addr(1), transport.ForAsk)))
			time.Sleep(2 * time.Second)
		}},
	"a member says that another record is acknowledged than the others have": {says: "a majority agrees with this node, the peer is ignored",
		pull: func(w *wrong) {
			liar := w.peer(third, wire.RaftHello{CommitTerm: w.held.Term + 1, CommitIndex: w.last.Index})
			defer liar.Close()
			w.must(errors.Join(liar.Hello(w.t.Context(), w.addr(0), transport.ForAsk), liar.Hello(w.t.Context(), w.addr(1), transport.ForAsk)))
			time.Sleep(2 * time.Second)
		}},
	"a mark of a member without state": {hurt: true, says: "this member has its state again", pull: func(w *wrong) {
		w.must(os.WriteFile(filepath.Join(w.disks[third].home, "raft", "amnesia"), []byte("no state\n"), 0o600))
	}},
	"a note of damage": {hurt: true, says: "state damaged, moved aside with its log", pull: func(w *wrong) {
		w.must(home.WriteNote(home.Config{Dir: w.disks[third].home}, home.DamageFile, errors.New("nothing")))
	}},
	"a log that is not what was written": {hurt: true, says: "raft log unreadable, moved aside", pull: func(w *wrong) {
		w.must(os.WriteFile(filepath.Join(w.disks[third].home, "raft", "log", "meta"), []byte("{}\n"), 0o600))
	}},
}

// TestWrongTriggers gives each guard a trigger that is wrong. The other two members serve on, lose no vote and move
// nothing aside, and what was ignored is in their log.
func TestWrongTriggers(t *testing.T) {
	warm()
	for name, trigger := range wrongTriggers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { trigger.run(t) })
		})
	}
}

func (g wrongTrigger) run(t *testing.T) {
	w := &wrong{log: new(logged)}
	w.cluster = newClusterWith(t, 7, 3, 0, slog.New(slog.NewTextHandler(w.log, nil)))
	defer w.close()
	w.put(0, 1, 2)
	w.agree()
	w.stop(third)
	w.put(0, 1)
	w.note()
	g.pull(w)
	w.put(0, 1)
	w.open(third)
	w.agree()
	w.put(0, 1, 2)
	w.agree()
	if !strings.Contains(w.log.String(), g.says) {
		t.Errorf("the log says nothing of %q:\n%s", g.says, w.log)
	}
	w.close()
	for i, d := range w.disks {
		d.whole(t, g.hurt && i == third)
	}
}

// put has each of some nodes store a memory, within a minute.
func (w *wrong) put(nodes ...int) {
	for _, i := range nodes {
		var err error
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			n := w.node(i)
			caller, cerr := n.Access().Local("default")
			w.must(cerr)
			if _, err = api.Remember.Do(context.Background(), n.Service(), caller,
				&api.RememberRequest{Draft: api.Draft{Text: fmt.Sprint("by node ", i+1), Importance: 0.5}}); err == nil {
				break
			}
		}
		if err != nil {
			w.t.Fatalf("node %d takes no write: %v", i+1, err)
		}
	}
}

// note notes what the others hold.
func (w *wrong) note() {
	st := w.node(0).Service().Cluster().Status(context.Background())
	for end := time.Now().Add(time.Minute); st.Agreement != "agree" ||
		st.LeaderID == nil; st = w.node(0).Service().Cluster().Status(context.Background()) {
		if time.Sleep(50 * time.Millisecond); time.Now().After(end) {
			w.t.Fatalf("the others do not agree: %+v", st)
		}
	}
	w.term, w.leader = st.CurrentTerm, int(*st.LeaderID-1)
	asker := w.peer(third, wire.RaftHello{})
	defer asker.Close()
	var err error
	w.held, err = asker.Compare(w.t.Context(), 1, w.addr(0), uint64(st.Applied))
	w.must(err)
	w.last.Index = uint64(st.Applied)
	if w.held.Term == 0 || len(w.held.Sum) != sha256.Size {
		w.t.Fatalf("node 1 holds %+v", w.held)
	}
}

func (w *wrong) addr(i int) string { return fmt.Sprintf("node%d:7440", i+1) }

// peer speaks as a node.
func (w *wrong) peer(i int, hello wire.RaftHello) *peertest.Peer {
	key, err := home.OpenIdentity(w.disks[i].home)
	w.must(err)
	st := w.node(0).Service().Cluster().Status(context.Background())
	hello.ClusterID, hello.HasState, hello.EntryMin, hello.EntryMax, hello.StateMin, hello.StateMax, hello.Reads = st.Cluster, true, oplog.RecordVersion, oplog.RecordVersion, snapshot.Min, snapshot.Max, oplog.Reads()
	return peertest.NewPeer(transport.Options{NodeID: uint32(i + 1), Advertise: w.addr(i), Secret: secret, Identity: key,
		Dial: w.net.dialer(third + 1), Log: slog.New(slog.DiscardHandler)}, hello)
}

// append sends a request of a leader in a node's name, which is to be rejected.
func (w *wrong) append(as int, a wire.RaftAppend, to ...int) {
	p := w.peer(as, wire.RaftHello{})
	defer p.Close()
	for _, i := range to {
		if r, err := p.Append(w.t.Context(), w.addr(i), a); err == nil {
			w.t.Errorf("node %d takes it: %+v", i+1, r)
		}
	}
	time.Sleep(2 * time.Second) // in which the members ask each other
}
