package raft

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// list is a state machine: the records in order.
type list struct {
	mu          sync.Mutex
	Index, Term uint64
	Items       []string
	restored    int
	dir         string // see savedDir
	// beforeSaving is called when a snapshot is about to be saved; nil: nothing happens in between
	beforeSaving func()
	sums         []StateSum
	hash         [sha256.Size]byte
	summed       int // of the items
}

func (l *list) Apply(batch []Record) []any {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]any, len(batch))
	for i, r := range batch {
		if r.Index <= l.Index {
			continue
		}
		l.Index, l.Term = r.Index, r.Term
		if r.Data != nil {
			l.Items = append(l.Items, string(r.Data))
		}
		out[i] = len(l.Items)
		l.sum()
	}
	return out
}

// sum keeps the hash of the list at its index: of the hash before, and the items since. The lock is held.
func (l *list) sum() {
	for ; l.summed < len(l.Items); l.summed++ {
		l.hash = sha256.Sum256(append(l.hash[:], l.Items[l.summed]...))
	}
	l.sums = append(l.sums, StateSum{l.Index, l.hash})
}

func (l *list) Sums() []StateSum {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sums[max(0, len(l.sums)-256):])
}

func (l *list) Applied() (uint64, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Index, l.Term
}

// founds says that each record is of the one cluster there is.
func founds([]byte) string { return "cluster" }

// hello tells the cluster's name, which a node knows from its first record on.
func (l *list) hello() (h wire.RaftHello) {
	if len(l.items()) > 0 {
		h.ClusterID = "cluster"
	}
	return h
}

func (l *list) items() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.Items)
}

func (l *list) Restore(r io.Reader) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Items, l.sums, l.hash, l.summed, l.restored = nil, nil, [sha256.Size]byte{}, 0, l.restored+1
	defer l.sum()
	return json.NewDecoder(r).Decode(l)
}

type noHandler struct{}

func (noHandler) Forward(ctx context.Context, _ uint32, m wire.Forward) ([]byte, error) {
	if string(m.Entry) == "hang" {
		<-ctx.Done()
	}
	return nil, errors.New("none here")
}
func (noHandler) Changed(context.Context, uint32, wire.Membership) {}
func (noHandler) Peer(_ context.Context, f wire.Frame) (wire.Frame, error) {
	return wire.Pack(wire.OpError, f.Stream, &wire.Error{Code: wire.CodeInvalidPayload, Message: "none here"}, false)
}

type cluster struct {
	t     testing.TB
	addrs []string
	dirs  []string
	nodes []*Node
	sms   []*list
	keys  map[int]*seal.Ring // of the nodes that encrypt
	disks map[int]*meter     // of the nodes whose log's disk is watched
	files map[int]logstore.FS
	roles map[int]string // of the nodes that are not voters
	slow  bool           // election timeouts are so long that no silence causes an election
	dial  func(context.Context, string) (net.Conn, error)
	log   *slog.Logger               // nil: none
	aside sync.Map                   // by node: why it stepped aside
	calm  bool                       // elections are slow, and the leader is heard often: those without state are taken in soon
	named bool                       // the log says the members' keys: see logKey
	fixed bool                       // no other key is taken
	size  int                        // of startNamed; 0: three
	owns  map[int]ed25519.PrivateKey // of the nodes that have another key than identityOf

	unread atomic.Uint32 // the node that has applied no keys of its log
	behind atomic.Uint32 // the node that has applied the first key of each member alone
}

// slowElection is longer than any machine stands still.
const slowElection = 40 * time.Second

// start opens n nodes, the last first, that know only each other's addresses. Half a second in which the machine does
// nothing may make another the leader, at any time.
func start(t testing.TB, n int) *cluster { return startSealed(t, n, nil) }

// startCalm opens nodes of which members that restart are elected and taken in again soon.
func startCalm(t testing.TB, n int) *cluster { return startWith(t, n, &cluster{calm: true}) }

// startSteady opens nodes of which the leader leads until a test makes another the leader.
func startSteady(t testing.TB, n int) *cluster { return startWith(t, n, &cluster{slow: true}) }

func startSealed(t testing.TB, n int, keys map[int]*seal.Ring) *cluster {
	return startWith(t, n, &cluster{keys: keys})
}

func startOn(t testing.TB, n int, disks map[int]*meter) *cluster {
	return startWith(t, n, &cluster{disks: disks, slow: true})
}

func startWith(t testing.TB, n int, c *cluster) *cluster {
	c.t, c.addrs, c.nodes, c.sms = t, make([]string, n), make([]*Node, n), make([]*list, n)
	for i := range n {
		c.addrs[i] = rafttest.Addr(t)
	}
	for i := n - 1; i >= 0; i-- {
		c.open(i, "secret", slices.Concat(c.addrs[:i], c.addrs[i+1:]))
	}
	return c
}

func (c *cluster) open(i int, secret string, peers []string) {
	c.t.Helper()
	c.sms[i] = &list{}
	c.dirs = slices.Grow(c.dirs, len(c.nodes))[:len(c.nodes)]
	c.dirs[i] = c.t.TempDir()
	c.reopen(i, secret, peers)
}

// reopen starts a node on the files and the state that are there.
func (c *cluster) reopen(i int, secret string, peers []string) {
	c.t.Helper()
	election := rafttest.Election(2 * time.Second)
	if c.slow {
		election = slowElection
	}
	if c.calm {
		election = rafttest.Election(8 * time.Second)
	}
	c.sms[i].dir = savedDir(c.dirs[i])
	files := c.files[i]
	if m := c.disks[i]; m != nil {
		files = m
	}
	n, err := Open(context.Background(),
		Config{NodeID: uint32(i + 1), Keys: c.keys[i], Dir: c.dirs[i], Addr: c.addrs[i],
			Credentials: c.credentials(i, secret), Peers: peers,
			Role: c.roles[i], Seams: Seams{Dial: c.dial, LogFiles: files}, Alone: len(peers) == 0,
			Timing: Timing{Heartbeat: 250 * time.Millisecond, Election: election}, Handler: noHandler{},
			Hello: c.sms[i].hello, Founds: founds, Logger: c.log,
			Check: checkItem, StepAside: func(why error, lost Lost) error { c.aside.Store(i, fmt.Errorf("%w; it has %v", why, lost)); return nil }}, c.sms[i])
	if err != nil {
		c.t.Fatal(err)
	}
	c.nodes[i] = n
	c.t.Cleanup(func() { n.Close() })
}

// credentials returns the credentials of a node. In a named cluster they find the members' keys in the node's log.
func (c *cluster) credentials(i int, secret string) Credentials {
	out := Credentials{Secret: secret, Identity: c.identity(i), FixedKeys: c.fixed}
	if sm := c.sms[i]; c.named {
		out.KeyOf = func(id uint32) (key string) {
			if c.unread.Load() == uint32(i+1) {
				return ""
			}
			for _, item := range sm.items() {
				if k, ok := strings.CutPrefix(item, fmt.Sprintf("key of %d ", id)); ok && (key == "" || c.behind.Load() != uint32(i+1)) {
					key = k
				}
			}
			return key
		}
	}
	return out
}

// identity is the key of a node's home.
func (c *cluster) identity(i int) ed25519.PrivateKey {
	if k, ok := c.owns[i]; ok {
		return k
	}
	return identityOf(i)
}

// logKey has the log say a node's key.
func (c *cluster) logKey(i int) (item string) {
	c.t.Helper()
	item = fmt.Sprintf("key of %d %s", i+1, transport.PublicText(c.identity(i)))
	c.put(item)
	return item
}

// storeUnchecked has the library of a follower store records of its leader that a leader would not send.
func (n *Node) storeUnchecked(t *testing.T, l *Node, req *hraft.AppendEntriesRequest) {
	t.Helper()
	req.RPCHeader = hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte(transport.ServerID(l.cfg.NodeID)),
		Addr: []byte(l.cfg.Advertise)}
	resp, err := n.transport.Consume(t.Context(), req, nil)
	if r, ok := resp.(*hraft.AppendEntriesResponse); err != nil || !ok || !r.Success {
		t.Fatalf("%+v, %v", resp, err)
	}
}

// checkItem rejects what no test proposes.
func checkItem(record []byte) error {
	if bytes.HasPrefix(record, []byte{0xFF}) {
		return errors.New("garbage")
	}
	return nil
}

// identityOf is the key of a node's first home.
func identityOf(i int) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i + 1)}, ed25519.SeedSize))
}

func (c *cluster) wait(what string, ok func() bool) {
	c.t.Helper()
	suite.Eventually(c.t, what, ok)
}

func (c *cluster) leader() (l *Node) {
	c.t.Helper()
	c.wait("a leader", func() bool {
		i := slices.IndexFunc(c.nodes, func(n *Node) bool { return n != nil && n.ctx.Err() == nil && n.IsLeader() })
		if i >= 0 {
			l = c.nodes[i]
		}
		return i >= 0
	})
	return l
}

// lead has a node stand until it leads. It has all that the others have by then: they would not elect it otherwise.
func (c *cluster) lead(n *Node) {
	c.t.Helper()
	c.wait("it to have what the others have", func() bool {
		return !slices.ContainsFunc(c.nodes, func(o *Node) bool {
			return o != nil && o.ctx.Err() == nil && o.raft.LastIndex() > n.raft.LastIndex()
		})
	})
	c.wait("it to lead", func() bool {
		if n.raft.State() == hraft.Follower { // one that stands already would begin again
			n.campaign()
		}
		return n.IsLeader()
	})
}

// leadAny has the node lead whose log reaches farthest, of those that run and may. It looks for that node again each
// time: another may win by itself, and one that stood against it over and over would depose it before it has led, and
// lack its records.
func (c *cluster) leadAny() {
	c.t.Helper()
	c.wait("a leader", func() bool {
		var best *Node
		for _, n := range c.nodes {
			switch {
			case n == nil || n.ctx.Err() != nil || !n.HasState():
			case n.raft.State() == hraft.Leader:
				return n.IsLeader()
			case best == nil || best.logEnd().Before(n.logEnd()):
				best = n
			}
		}
		if _, _, led := best.Leader(); !led && best.raft.State() == hraft.Follower {
			best.campaign()
		}
		return false
	})
}

// voting waits until a member has its vote, as its leader and it itself say.
func (c *cluster) voting(i int) {
	c.t.Helper()
	c.wait("it to have its vote", func() bool {
		for _, n := range []*Node{c.leader(), c.nodes[i]} {
			if s, _ := n.findMember(uint32(i + 1)); s.Suffrage != hraft.Voter || s.ID == "" {
				return false
			}
		}
		return true
	})
}

func (c *cluster) propose(from, to int) (want []string) {
	c.t.Helper()
	for i := from; i < to; i++ {
		want = append(want, fmt.Sprint("entry-", i))
		c.put(want[len(want)-1])
	}
	return want
}

// put has the current leader store a record once: if it loses the lead meanwhile, the next leader knows the outcome.
func (c *cluster) put(item string) {
	c.t.Helper()
	c.wait(item+" to be taken", func() bool {
		l := c.leader()
		term := l.Term()
		_, _, err := l.Propose(c.t.Context(), []byte(item)).Wait()
		if err != nil && l.IsLeader() && l.Term() == term {
			c.t.Fatal(err)
		}
		if errors.Is(err, ErrUnknownOutcome) {
			return slices.Contains(c.sms[c.leader().cfg.NodeID-1].items(), item)
		}
		return err == nil
	})
}

func TestThreeNodesFailOver(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	want := c.propose(0, 50)
	first := c.leader()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	want = append(want, c.propose(50, 100)...)
	for i, n := range c.nodes {
		if n != first {
			c.wait("equal lists", func() bool { return slices.Equal(c.sms[i].items(), want) })
		}
	}
}

func TestTransferReachesTheNodeNamed(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startSteady(t, 3)
	c.propose(0, 1)
	id := c.leader().cfg.NodeID%3 + 1
	if _, err := c.leader().Change(t.Context(), wire.Membership{Action: "transfer", NodeID: id}); err != nil {
		t.Fatal(err)
	}
	c.wait("the named node to lead", func() bool { return c.nodes[id-1].IsLeader() })
}

func TestJoinFindsTheLeaderBehindOthers(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startSteady(t, 3)
	want := c.propose(0, 20)
	l := c.leader().cfg.NodeID
	follower := c.addrs[l%3]
	c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
	c.open(3, "secret", []string{rafttest.Addr(t), follower, c.addrs[l-1]}) // an address without a node, a follower, the leader
	c.wait("the newcomer to vote and hold all", func() bool {
		i := slices.IndexFunc(c.leader().Status().Members, func(m Member) bool { return m.ID == 4 && m.Voter })
		return i >= 0 && slices.Equal(c.sms[3].items(), want)
	})
}

// A node that is configured with a follower alone is taken in by the leader.
func TestAFollowerPassesAJoinOn(t *testing.T) {
	suite.Full(t)
	c := startSteady(t, 3)
	want := c.propose(0, 5)
	follower := c.addrs[c.leader().cfg.NodeID%3]
	c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
	c.open(3, "secret", []string{follower})
	c.wait("the newcomer to hold all", func() bool { return slices.Equal(c.sms[3].items(), want) })
}

// A stranger with the secret moves no term, with or without a raft map.
func TestStrangerMovesNothing(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startSteady(t, 3)
	c.propose(0, 1)
	l := c.leader()
	term := l.Term()
	stranger := &Node{cfg: Config{NodeID: 99, Role: "voter", Credentials: Credentials{Secret: "secret"},
		Advertise: "127.0.0.1:1"}.withDefaults()}
	network := stranger.newTransport(nil)
	defer network.Close()
	p := network.Pool
	const far = 1_000_000_000
	for _, m := range []*wire.RaftVote{nil, {Term: far, Candidate: 99}, {Term: far, Candidate: l.cfg.NodeID%3 + 1}} {
		var v wire.Vote
		err := p.Call(t.Context(), l.Advertised(), transport.ForHeartbeat, wire.OpRequestVote,
			&wire.RequestVote{Term: far, CandidateID: 99, Raft: m}, wire.OpVoteDenied, &v)
		if err != nil || v.Granted || v.Term != term || v.Reason == nil {
			t.Errorf("vote %+v: got %+v, %v", m, v, err)
		}
	}
	for _, a := range []*wire.RaftAppend{nil, {Term: far, Leader: 99}, {Term: far, Leader: l.cfg.NodeID%3 + 1}} {
		var ack wire.HeartbeatAck
		err := p.Call(t.Context(), l.Advertised(), transport.ForHeartbeat, wire.OpHeartbeat,
			&wire.Heartbeat{Term: far, LeaderID: 99, Raft: a}, wire.OpHeartbeatAck, &ack)
		if err != nil || ack.Term != term || ack.Raft != nil {
			t.Errorf("heartbeat %+v: got %+v, %v", a, ack, err)
		}
	}
	if !l.IsLeader() || l.Term() != term {
		t.Errorf("term %d became %d", term, l.Term())
	}
	stranger.cfg.Secret = "wrong"
	impostor := stranger.newTransport(nil)
	defer impostor.Close()
	var pe *transport.PeerError
	if _, err := impostor.Pool.Dial(t.Context(), l.Advertised(), transport.ForForward); !errors.As(err, &pe) ||
		pe.Code != wire.CodeSecretMismatch {
		t.Errorf("wrong secret: got %v", err)
	}
}

// A state that lacks only records it is never given is not restored at the start: the snapshot may be large.
func TestAStateThatHasAllIsNotRestored(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	want := c.propose(0, 5)
	for range 2 {
		if err := c.nodes[0].Close(); err != nil {
			t.Fatal(err)
		}
		c.reopen(0, "secret", nil)
		l := c.leader() // whose term begins with records of the library's own
		if err := l.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	if c.sms[0].restored != 0 || !slices.Equal(c.sms[0].items(), want) {
		t.Errorf("restored %d times; it has %q", c.sms[0].restored, c.sms[0].items())
	}
	if err := c.nodes[0].Close(); err != nil {
		t.Fatal(err)
	}
	c.sms[0] = &list{}
	c.reopen(0, "secret", nil)
	c.leader()
	if c.sms[0].restored != 1 || !slices.Equal(c.sms[0].items(), want) {
		t.Errorf("without a state: restored %d times; it has %q", c.sms[0].restored, c.sms[0].items())
	}
}
