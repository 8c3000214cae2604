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

// A wrongTrigger makes one of the guards that take away a vote, a state or a log (raft/DESIGN.md) act on a healthy
// member.
type wrongTrigger struct {
	pull       func(w *wrongCluster)
	wantLog    string // text that must be in the log
	movesFiles bool   // the guard may move files of the third member aside; the member must become whole again
}

// wrongCluster is a cluster whose third node is stopped and controlled by the test.
type wrongCluster struct {
	*cluster
	log      *logBuffer
	term     uint64
	last     raft.StateSum // index that the other nodes have applied
	compared wire.CompareOK
	leader   int
}

// logBuffer collects the log lines of all nodes.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const third = 2

var wrongTriggers = map[string]wrongTrigger{
	"a request of one member contradicts what is applied": {wantLog: "a majority agrees with this node, the peer is ignored",
		pull: func(w *wrongCluster) {
			w.append(third, wire.RaftAppend{Term: w.term + 1, PrevIndex: w.last.Index, PrevTerm: w.compared.Term + 1}, 0, 1)
		}},
	"a bit changes in what the leader sends": {wantLog: "a majority agrees with this node, the peer is ignored", pull: func(w *wrongCluster) {
		w.append(w.leader, wire.RaftAppend{Term: w.term, PrevIndex: w.last.Index, PrevTerm: w.compared.Term ^ 1}, 1-w.leader)
	}},
	"a record is garbage": {wantLog: "unreadable log record", pull: func(w *wrongCluster) {
		w.append(third, wire.RaftAppend{Term: w.term + 1, PrevIndex: w.last.Index, PrevTerm: w.compared.Term, Commit: w.last.Index + 1,
			Entries: []wire.RaftEntry{{Index: w.last.Index + 1, Term: w.term + 1, Data: []byte("garbage")}}}, 0, 1)
	}},
	"a member says that others acknowledged what they lack": {wantLog: "the receipt is not this node's", pull: func(w *wrongCluster) {
		liar := w.peer(third, wire.RaftHello{AckTerm: w.term + 1, AckIndex: 1 << 30, Receipt: "false"})
		defer liar.Close()
		w.must(errors.Join(liar.Hello(w.t.Context(), w.addr(0), transport.ForAsk), liar.Hello(w.t.Context(), w.addr(1), transport.ForAsk)))
	}},
	"a member says that records are acknowledged which the others lack": {wantLog: "acknowledged records are lost, or the peer is wrong",
		pull: func(w *wrongCluster) {
			liar := w.peer(third, wire.RaftHello{CommitTerm: w.term, CommitIndex: w.last.Index + 1000})
			defer liar.Close()
			w.must(errors.Join(liar.Hello(w.t.Context(), w.addr(0), transport.ForAsk), liar.Hello(w.t.Context(), w.addr(1), transport.ForAsk)))
			time.Sleep(2 * time.Second)
		}},
	"a member says that another record is acknowledged than the others have": {wantLog: "a majority agrees with this node, the peer is ignored",
		pull: func(w *wrongCluster) {
			liar := w.peer(third, wire.RaftHello{CommitTerm: w.compared.Term + 1, CommitIndex: w.last.Index})
			defer liar.Close()
			w.must(errors.Join(liar.Hello(w.t.Context(), w.addr(0), transport.ForAsk), liar.Hello(w.t.Context(), w.addr(1), transport.ForAsk)))
			time.Sleep(2 * time.Second)
		}},
	"a mark of a member without state": {movesFiles: true, wantLog: "this member has its state again", pull: func(w *wrongCluster) {
		w.must(os.WriteFile(filepath.Join(w.disks[third].home, "raft", "amnesia"), []byte("no state\n"), 0o600))
	}},
	"a note of damage": {movesFiles: true, wantLog: "state damaged, moved aside with its log", pull: func(w *wrongCluster) {
		w.must(home.WriteNote(home.Config{Dir: w.disks[third].home}, home.DamageFile, errors.New("nothing")))
	}},
	"a log that is not what was written": {movesFiles: true, wantLog: "raft log unreadable, moved aside", pull: func(w *wrongCluster) {
		w.must(os.WriteFile(filepath.Join(w.disks[third].home, "raft", "log", "meta"), []byte("{}\n"), 0o600))
	}},
}

// TestWrongTriggers checks that a guard with a wrong trigger does no harm: the other two members continue to serve,
// keep their votes, move nothing aside, and log what they ignored.
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
	w := &wrongCluster{log: new(logBuffer)}
	w.cluster = newClusterWith(t, 7, 3, 0, slog.New(slog.NewTextHandler(w.log, nil)))
	defer w.close()
	w.put(0, 1, 2)
	w.waitAgree()
	w.stop(third)
	w.put(0, 1)
	w.recordState()
	g.pull(w)
	w.put(0, 1)
	w.open(third)
	w.waitAgree()
	w.put(0, 1, 2)
	w.waitAgree()
	if !strings.Contains(w.log.String(), g.wantLog) {
		t.Errorf("the log says nothing of %q:\n%s", g.wantLog, w.log)
	}
	w.close()
	for i, d := range w.disks {
		d.checkUndamaged(t, g.movesFiles && i == third)
	}
}

// put stores a memory through each of the given nodes. It retries for a minute.
func (w *wrongCluster) put(nodes ...int) {
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

// recordState records the term, the leader and the last applied index of the other nodes.
func (w *wrongCluster) recordState() {
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
	w.compared, err = asker.Compare(w.t.Context(), 1, w.addr(0), uint64(st.Applied))
	w.must(err)
	w.last.Index = uint64(st.Applied)
	if w.compared.Term == 0 || len(w.compared.Sum) != sha256.Size {
		w.t.Fatalf("node 1 holds %+v", w.compared)
	}
}

func (w *wrongCluster) addr(i int) string { return fmt.Sprintf("node%d:7440", i+1) }

// peer returns a client of the peer protocol that acts as node i.
func (w *wrongCluster) peer(i int, hello wire.RaftHello) *peertest.Peer {
	key, err := home.OpenIdentity(w.disks[i].home)
	w.must(err)
	st := w.node(0).Service().Cluster().Status(context.Background())
	hello.ClusterID, hello.HasState, hello.EntryMin, hello.EntryMax, hello.StateMin, hello.StateMax, hello.Reads = st.Cluster, true, oplog.RecordVersion, oplog.RecordVersion, snapshot.Min, snapshot.Max, oplog.Reads()
	return peertest.NewPeer(transport.Options{NodeID: uint32(i + 1), Advertise: w.addr(i), Secret: secret, Identity: key,
		Dial: w.net.dialer(third + 1), Log: slog.New(slog.DiscardHandler)}, hello)
}

// append sends a leader's append request in the name of a node, which all given nodes must reject.
func (w *wrongCluster) append(as int, a wire.RaftAppend, to ...int) {
	p := w.peer(as, wire.RaftHello{})
	defer p.Close()
	for _, i := range to {
		if r, err := p.Append(w.t.Context(), w.addr(i), a); err == nil {
			w.t.Errorf("node %d takes it: %+v", i+1, r)
		}
	}
	time.Sleep(2 * time.Second) // time for the members to ask each other
}
