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

// listMachine is a state machine that stores the records in order.
type listMachine struct {
	mu          sync.Mutex
	Index, Term uint64
	Items       []string
	restored    int
	dir         string // see savedDir
	// beforeSaving is called before a snapshot is saved; may be nil
	beforeSaving func()
	sums         []StateSum
	hash         [sha256.Size]byte
	hashed       int // the number of items in hash
}

func (l *listMachine) Apply(batch []Record) []any {
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
		l.storeHash()
	}
	return out
}

// storeHash stores the hash of the list at its index: the hash of the previous hash and the items since. The caller
// holds the lock.
func (l *listMachine) storeHash() {
	for ; l.hashed < len(l.Items); l.hashed++ {
		l.hash = sha256.Sum256(append(l.hash[:], l.Items[l.hashed]...))
	}
	l.sums = append(l.sums, StateSum{l.Index, l.hash})
}

func (l *listMachine) Sums() []StateSum {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sums[max(0, len(l.sums)-256):])
}

func (l *listMachine) Applied() (uint64, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Index, l.Term
}

// founds returns the cluster's name for every record.
func founds([]byte) string { return "cluster" }

// hello returns the cluster's name, which a node knows from its first record on.
func (l *listMachine) hello() (h wire.RaftHello) {
	if len(l.items()) > 0 {
		h.ClusterID = "cluster"
	}
	return h
}

func (l *listMachine) items() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.Items)
}

func (l *listMachine) Restore(r io.Reader) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Items, l.sums, l.hash, l.hashed, l.restored = nil, nil, [sha256.Size]byte{}, 0, l.restored+1
	defer l.storeHash()
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
	t            testing.TB
	addrs        []string
	dirs         []string
	nodes        []*Node
	sms          []*listMachine
	keys         map[int]*seal.Ring  // keys of the nodes that encrypt
	disks        map[int]*faultyDisk // disks of the logs that a test observes or breaks
	files        map[int]logstore.FS
	roles        map[int]string // roles of the nodes that are not voters
	slow         bool           // election timeouts are so long that no silence causes an election
	dial         func(context.Context, string) (net.Conn, error)
	log          *slog.Logger               // nil for no log
	steppedAside sync.Map                   // the reason of each node that stepped aside
	fastRejoin   bool                       // elections are slow but heartbeats frequent, so members without state rejoin soon
	withKeys     bool                       // the log has the members' keys: see logKey
	fixedKeys    bool                       // see Credentials.FixedKeys
	size         int                        // number of nodes of startWithKeys; 0: three
	newKeys      map[int]ed25519.PrivateKey // nodes whose key is not identityOf

	lacksKeys        atomic.Uint32 // the node that sees no keys in its log
	hasFirstKeysOnly atomic.Uint32 // the node that sees only the first key of each member
}

// slowElection is longer than any pause of the machine.
const slowElection = 5 * time.Minute

// start opens n nodes, the last first, that know only each other's addresses. A pause of the machine of half a second
// may cause a change of leader at any time.
func start(t testing.TB, n int) *cluster { return startSealed(t, n, nil) }

// startFastRejoin opens n nodes in which restarted members are elected and admitted again soon.
func startFastRejoin(t testing.TB, n int) *cluster {
	return startWith(t, n, &cluster{fastRejoin: true})
}

// startStableLeader opens n nodes whose leader changes only when a test changes it.
func startStableLeader(t testing.TB, n int) *cluster { return startWith(t, n, &cluster{slow: true}) }

func startSealed(t testing.TB, n int, keys map[int]*seal.Ring) *cluster {
	return startWith(t, n, &cluster{keys: keys})
}

func startOn(t testing.TB, n int, disks map[int]*faultyDisk) *cluster {
	return startWith(t, n, &cluster{disks: disks, slow: true})
}

func startWith(t testing.TB, n int, c *cluster) *cluster {
	c.t, c.addrs, c.nodes, c.sms = t, make([]string, n), make([]*Node, n), make([]*listMachine, n)
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
	c.sms[i] = &listMachine{}
	c.dirs = slices.Grow(c.dirs, len(c.nodes))[:len(c.nodes)]
	c.dirs[i] = c.t.TempDir()
	c.reopen(i, secret, peers)
}

// reopen starts a node with its present files and state.
func (c *cluster) reopen(i int, secret string, peers []string) {
	c.t.Helper()
	election := rafttest.Election(2 * time.Second)
	if c.slow {
		election = slowElection
	}
	if c.fastRejoin {
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
			Check: checkItem, StepAside: func(why error, lost Lost) error {
				c.steppedAside.Store(i, fmt.Errorf("%w; it has %v", why, lost))
				return nil
			}}, c.sms[i])
	if err != nil {
		c.t.Fatal(err)
	}
	c.nodes[i] = n
	c.t.Cleanup(func() { n.Close() })
}

// credentials returns the credentials of a node. With withKeys they look up the members' keys in the node's log.
func (c *cluster) credentials(i int, secret string) Credentials {
	out := Credentials{Secret: secret, Identity: c.identity(i), FixedKeys: c.fixedKeys}
	if sm := c.sms[i]; c.withKeys {
		out.KeyOf = func(id uint32) (key string) {
			if c.lacksKeys.Load() == uint32(i+1) {
				return ""
			}
			for _, item := range sm.items() {
				if k, ok := strings.CutPrefix(item, fmt.Sprintf("key of %d ", id)); ok && (key == "" || c.hasFirstKeysOnly.Load() != uint32(i+1)) {
					key = k
				}
			}
			return key
		}
	}
	return out
}

// identity returns the key of a node's home.
func (c *cluster) identity(i int) ed25519.PrivateKey {
	if k, ok := c.newKeys[i]; ok {
		return k
	}
	return identityOf(i)
}

// logKey writes a node's key into the log.
func (c *cluster) logKey(i int) (item string) {
	c.t.Helper()
	item = fmt.Sprintf("key of %d %s", i+1, transport.PublicText(c.identity(i)))
	c.proposeItem(item)
	return item
}

// storeDirectly passes a request of a leader to a follower's library without validating it.
func (n *Node) storeDirectly(t *testing.T, l *Node, req *hraft.AppendEntriesRequest) {
	t.Helper()
	req.RPCHeader = hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte(transport.ServerID(l.cfg.NodeID)),
		Addr: []byte(l.cfg.Advertise)}
	resp, err := n.transport.Consume(t.Context(), req, nil)
	if r, ok := resp.(*hraft.AppendEntriesResponse); err != nil || !ok || !r.Success {
		t.Fatalf("%+v, %v", resp, err)
	}
}

// checkItem rejects records that no test proposes.
func checkItem(record []byte) error {
	if bytes.HasPrefix(record, []byte{0xFF}) {
		return errors.New("garbage")
	}
	return nil
}

// identityOf returns the key of a node's first home.
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

// makeLeader makes a node campaign until it leads. It first waits until the node has every record of the others: they
// would not elect it otherwise.
func (c *cluster) makeLeader(n *Node) {
	c.t.Helper()
	c.wait("it to have what the others have", func() bool {
		return !slices.ContainsFunc(c.nodes, func(o *Node) bool {
			return o != nil && o.ctx.Err() == nil && o.raft.LastIndex() > n.raft.LastIndex()
		})
	})
	c.wait("it to lead", func() bool {
		if n.raft.State() == hraft.Follower { // a candidate would start again
			n.campaign()
		}
		return n.IsLeader()
	})
}

// electLongestLog elects the node with the longest log among the running nodes that may lead. It picks the node again
// in each round: another node may win by itself, and a node that kept campaigning against it would depose it again
// and lack its records.
func (c *cluster) electLongestLog() {
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

// waitVoter waits until a member has its vote, in the view of its leader and its own.
func (c *cluster) waitVoter(i int) {
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
		c.proposeItem(want[len(want)-1])
	}
	return want
}

// proposeItem makes the current leader store a record once. If the leader loses the lead meanwhile, the next leader
// knows the outcome.
func (c *cluster) proposeItem(item string) {
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
	c := startStableLeader(t, 3)
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
	c := startStableLeader(t, 3)
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

// TestAFollowerPassesAJoinOn: a node that is configured only with a follower joins through that follower.
func TestAFollowerPassesAJoinOn(t *testing.T) {
	suite.Full(t)
	c := startStableLeader(t, 3)
	want := c.propose(0, 5)
	follower := c.addrs[c.leader().cfg.NodeID%3]
	c.addrs, c.nodes, c.sms = append(c.addrs, rafttest.Addr(t)), append(c.nodes, nil), append(c.sms, nil)
	c.open(3, "secret", []string{follower})
	c.wait("the newcomer to hold all", func() bool { return slices.Equal(c.sms[3].items(), want) })
}

// TestStrangerMovesNothing: a node that is no member but knows the secret changes no term, with or without a raft
// map.
func TestStrangerMovesNothing(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
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

// TestAStateThatHasAllIsNotRestored: a state that lacks only the library's own records is not restored at the start,
// because the snapshot may be large.
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
	c.sms[0] = &listMachine{}
	c.reopen(0, "secret", nil)
	c.leader()
	if c.sms[0].restored != 1 || !slices.Equal(c.sms[0].items(), want) {
		t.Errorf("without a state: restored %d times; it has %q", c.sms[0].restored, c.sms[0].items())
	}
}
