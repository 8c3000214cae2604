package raft

import (
	"context"
	"errors"
	"fmt"
	"io"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// member reports whether a Raft message of this connection's peer counts: its sender must be the node that said
// hello, and a member of the current configuration, unless this node has no configuration yet. This check is the
// trust boundary between knowing the secret and taking part in consensus.
func (c *inbound) member(sender uint32) bool {
	if sender != c.Peer.NodeID || sender == c.n.cfg.NodeID || c.Peer.Raft == nil {
		return false
	}
	_, known := c.n.findMember(sender)
	return known || !c.n.hasConfiguration()
}

// unpack decodes a frame. Large frames take turns, because a peer that knows the secret may send many at once on many
// connections.
func (c *inbound) unpack(ctx context.Context, f wire.Frame, m wire.Message) error {
	return c.n.largeFrames.Decode(ctx, wire.PlainSize(f, wire.MaxPlainPeer), func() error { return wire.Unpack(f, m, wire.MaxPlainPeer) })
}

// mayLead reports whether this node processes a leader's or candidate's requests. A member that was away may not know
// a leader that joined meanwhile, and only that leader has the record of its joining. So any node with the same
// cluster id may lead.
func (c *inbound) mayLead(sender uint32) bool {
	if c.member(sender) {
		return true
	}
	if sender != c.Peer.NodeID || sender == c.n.cfg.NodeID || c.Peer.Raft == nil {
		return false
	}
	ours := c.n.clusterID()
	return ours != "" && c.Peer.Raft.ClusterID == ours
}

// answer replies to a request, or returns the reason for its rejection to the peer.
func (c *inbound) answer(f wire.Frame, op wire.Op, reply wire.Message, code wire.Code, err error) error {
	if err != nil {
		return c.Fail(f, code, "%v", err)
	}
	return c.Reply(f, op, reply)
}

// consume passes a request to the library and returns its answer, which must be an R.
func consume[R any](ctx context.Context, c *inbound, cmd any, body io.Reader) (*R, error) {
	resp, err := c.n.transport.Consume(ctx, cmd, body)
	r, ok := resp.(*R)
	if err == nil && !ok {
		err = fmt.Errorf("%T answered with %T", cmd, resp)
	}
	return r, err
}

func (c *inbound) header(id uint32, addr string) hraft.RPCHeader {
	return hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte(transport.ServerID(id)), Addr: []byte(addr)}
}

func (c *inbound) append(ctx context.Context, a *wire.RaftAppend) (*wire.RaftAppendReply, error) {
	if err := c.n.checkAdmitted(a.Leader, a.LeaderAddr, a.Term); err != nil {
		return nil, err
	}
	req := &hraft.AppendEntriesRequest{RPCHeader: c.header(a.Leader, a.LeaderAddr), Term: a.Term,
		PrevLogEntry: a.PrevIndex, PrevLogTerm: a.PrevTerm, LeaderCommitIndex: a.Commit, Entries: transport.Records(a.Entries)}
	if err := c.n.validateAppend(a.Leader, req); err != nil {
		return nil, err
	}
	if c.n.fresh(a.Heard) {
		c.n.noteLeader(a.Term, a.Acknowledged, transport.FromMicros(a.Clock))
	}
	c.n.noteAcknowledged(a.Last)
	c.n.limitCommit(req)
	r := c.n.answerHeartbeat(req)
	if r == nil {
		var err error
		if r, err = consume[hraft.AppendEntriesResponse](ctx, c, req, nil); err != nil {
			return nil, err
		}
	}
	if err := c.n.logs.WaitSynced(r.LastLog); err != nil {
		return nil, err
	}
	reply := &wire.RaftAppendReply{Term: r.Term, LastLog: r.LastLog, Success: r.Success, NoRetryBackoff: r.NoRetryBackoff,
		Clock: transport.Micros(c.n.cfg.Now()), Mark: c.n.uptimeMicros()}
	if i := len(a.Entries); i > 0 && r.Success {
		reply.Acked = c.n.receipt(recovery.Position{Term: a.Entries[i-1].Term, Index: a.Entries[i-1].Index})
	}
	return reply, nil
}

// limitCommit lowers a request's commit index to the last record that the request proves. Only records in the
// request, or before it, are known to match the leader's log. The library would also commit later records of this
// log, which may be another leader's.
//
// Every record applied anywhere is the leader's too. So when a request begins before the last applied record, and
// the record to compare with is gone or was replaced by a snapshot that ends among records of a deposed leader, the
// request is moved to begin behind the last applied one. Otherwise the library would reject it, and the leader would
// send a snapshot that is not needed, again and again. The library does not compare with record 0.
func (n *Node) limitCommit(req *hraft.AppendEntriesRequest) {
	known := req.PrevLogEntry
	if applied := n.raft.AppliedIndex(); known > 0 && known <= applied && req.Term >= n.Term() && !n.logMatches(known, req.PrevLogTerm) {
		req.PrevLogEntry, req.PrevLogTerm, known = 0, 0, applied
		for len(req.Entries) > 0 && req.Entries[0].Index <= applied {
			req.Entries = req.Entries[1:]
		}
	}
	if i := len(req.Entries); i > 0 {
		known = req.Entries[i-1].Index
	}
	req.LeaderCommitIndex = min(req.LeaderCommitIndex, known)
}

// logMatches reports whether the log has a record of this term at an index.
func (n *Node) logMatches(index, term uint64) bool {
	var l hraft.Log
	return n.logs.GetLog(index, &l) == nil && l.Term == term
}

// push handles AppendEntries from a member, and operations from a foreign peer.
func (c *inbound) push(ctx context.Context, f wire.Frame, m *wire.OplogPush) error {
	if m.Raft == nil {
		m.Ops = nil // the handler decodes them again, and holds that copy while it stores them
		return c.other(ctx, f)
	}
	if !c.mayLead(m.Raft.Leader) {
		return c.Fail(f, wire.CodeNotLeader, "node %d is not a member of this cluster", m.Raft.Leader)
	}
	r, err := c.append(ctx, m.Raft)
	return c.answer(f, wire.OpOplogPushOK, &wire.OplogPushOK{LastHLC: []byte{}, Raft: r}, wire.CodeInternal, err)
}

func (c *inbound) heartbeat(ctx context.Context, f wire.Frame, m *wire.Heartbeat) error {
	ack := &wire.HeartbeatAck{FollowerID: c.n.cfg.NodeID, FollowerRole: c.n.cfg.Role, FollowerLastHLC: []byte{}}
	if m.Raft != nil && c.mayLead(m.Raft.Leader) {
		r, err := c.append(ctx, m.Raft)
		if err != nil {
			return c.Fail(f, wire.CodeInternal, "%v", err)
		}
		ack.Raft = r
	}
	// A foreign peer gets the current term; its own term changes nothing here.
	ack.Term = c.n.Term()
	return c.Reply(f, wire.OpHeartbeatAck, ack)
}

func (c *inbound) vote(ctx context.Context, f wire.Frame, m *wire.RequestVote) error {
	reply := func(v *wire.Vote, op wire.Op) error {
		v.VoterID = c.n.cfg.NodeID
		return c.Reply(f, op, v)
	}
	deny := func(reason string) error {
		return reply(&wire.Vote{Term: c.n.Term(), Reason: &reason}, wire.OpVoteDenied)
	}
	switch v := m.Raft; {
	case v == nil:
		return deny("this cluster votes through Raft only")
	case !c.mayLead(v.Candidate):
		return deny("not of this cluster")
	case c.n.stateless():
		return deny("this node has no state to vote with")
	case c.n.checkTrusted(v.Candidate) != nil:
		return deny(c.n.checkTrusted(v.Candidate).Error())
	case c.n.checkTerm(v.Term) != nil:
		return deny(c.n.reject(v.Candidate, 0, c.n.checkTerm(v.Term)).Error())
	default:
		r, err := c.answerVote(ctx, v)
		if err != nil {
			return deny(err.Error())
		}
		op := wire.OpVoteDenied
		if r.Granted {
			op = wire.OpVoteGranted
		}
		return reply(&wire.Vote{Term: r.Term, Granted: r.Granted, Raft: r}, op)
	}
}

func (c *inbound) answerVote(ctx context.Context, v *wire.RaftVote) (*wire.RaftVoteReply, error) {
	switch {
	case v.PreVote && c.n.leaderEnded():
		return &wire.RaftVoteReply{Term: c.n.Term(), Granted: c.n.grantPreVote(v.Term, v.LastIndex, v.LastTerm)}, nil
	case c.n.unlistedCandidate(v.Candidate), c.n.stranded():
		return c.voteByLogs(ctx, v)
	default:
		return c.castVote(ctx, v, c.header(v.Candidate, v.Addr))
	}
}

// castVote makes the library vote on the candidate that the header names, or report whether it would.
func (c *inbound) castVote(ctx context.Context, v *wire.RaftVote, h hraft.RPCHeader) (*wire.RaftVoteReply, error) {
	if v.PreVote {
		r, err := consume[hraft.RequestPreVoteResponse](ctx, c,
			&hraft.RequestPreVoteRequest{RPCHeader: h, Term: v.Term, LastLogIndex: v.LastIndex, LastLogTerm: v.LastTerm}, nil)
		if err != nil {
			return nil, err
		}
		return &wire.RaftVoteReply{Term: r.Term, Granted: r.Granted}, nil
	}
	r, err := consume[hraft.RequestVoteResponse](ctx, c,
		&hraft.RequestVoteRequest{RPCHeader: h, Term: v.Term, LastLogIndex: v.LastIndex, LastLogTerm: v.LastTerm,
			LeadershipTransfer: v.Transfer}, nil)
	if err != nil {
		return nil, err
	}
	return &wire.RaftVoteReply{Term: r.Term, Granted: r.Granted}, nil
}

func (c *inbound) snapshot(ctx context.Context, f wire.Frame, m *wire.SnapshotBegin) error {
	if !c.mayLead(m.Leader) {
		return c.Fail(f, wire.CodeNotLeader, "node %d is not a member of this cluster", m.Leader)
	}
	if err := c.n.checkAdmitted(m.Leader, m.LeaderAddr, m.Term); err != nil {
		return c.Fail(f, wire.CodeNotLeader, "%v", err)
	}
	if err := c.n.validateSnapshot(m); err != nil {
		return c.Fail(f, wire.CodeNotLeader, "%v", err)
	}
	c.n.log.Info("receiving snapshot", "peer", m.Leader, "index", m.LastIndex, "bytes", m.Size)
	pr, pw := io.Pipe()
	received := make(chan error, 1)
	body := &skipIfApplied{r: pr, n: c.n, index: m.LastIndex}
	req := &hraft.InstallSnapshotRequest{RPCHeader: c.header(m.Leader, m.LeaderAddr),
		SnapshotVersion: hraft.SnapshotVersionMax, Term: m.Term,
		Leader: []byte(m.LeaderAddr), LastLogIndex: m.LastIndex, LastLogTerm: m.LastTerm, Configuration: m.Configuration,
		ConfigurationIndex: m.ConfigurationIndex, Size: int64(m.Size)}
	go func() { // ends with the last chunk, the connection, or the reader's close below
		size, err := c.ReceiveSnapshot(pw, func(f wire.Frame, m wire.Message) error { return c.unpack(ctx, f, m) })
		if err == nil {
			req.Size = int64(size) // the library has begun to read, and compares the size at the end
		}
		pw.CloseWithError(err)
		received <- err
	}()
	r, err := consume[hraft.InstallSnapshotResponse](ctx, c, req, body)
	pr.CloseWithError(io.ErrClosedPipe)
	if rerr := <-received; rerr != nil {
		return rerr // the stream broke off, so no answer is possible
	}
	old := errors.Is(err, errAlreadyApplied)
	if err != nil && !old {
		return c.Fail(f, wire.CodeInternal, "%v", err)
	}
	if r == nil {
		return err
	}
	if r.Success {
		_ = c.n.dropSuperseded(m.LastIndex, m.LastTerm) // it has been logged, and the snapshot is installed
	}
	return c.Reply(f, wire.OpSnapshotOK, &wire.SnapshotOK{Term: r.Term, Success: r.Success || old})
}

// skipIfApplied reads a snapshot's body, and fails if this member has already applied all of the snapshot: the
// transfer may have taken long, or its sender may not know this member's index. The library would go back to the
// snapshot's end, and then need records that are gone. Read runs in the only goroutine that moves the applied index,
// so the index does not change after the check.
type skipIfApplied struct {
	r     io.Reader
	n     *Node
	index uint64
}

var errAlreadyApplied = errors.New("all of the snapshot is applied already")

func (u *skipIfApplied) Read(b []byte) (int, error) {
	if u.n.raft.AppliedIndex() >= u.index {
		return 0, errAlreadyApplied
	}
	return u.r.Read(b)
}

func (c *inbound) timeoutNow(ctx context.Context, f wire.Frame, m *wire.TimeoutNow) error {
	if !c.member(m.Leader) {
		return c.Fail(f, wire.CodeNotLeader, "node %d is not a member of this cluster", m.Leader)
	}
	if c.n.stateless() {
		return c.Fail(f, wire.CodeNotLeader, "%v", errNotAdmitted)
	}
	if id, _, known := c.n.Leader(); known && id != m.Leader { // the message is late, and would depose another leader
		return c.Fail(f, wire.CodeNotLeader, "node %d does not lead", m.Leader)
	}
	_, err := consume[hraft.TimeoutNowResponse](ctx, c, &hraft.TimeoutNowRequest{RPCHeader: c.header(m.Leader, m.LeaderAddr)}, nil)
	return c.answer(f, wire.OpTimeoutNowOK, &wire.Nothing{}, wire.CodeInternal, err)
}

func (c *inbound) forward(ctx context.Context, f wire.Frame, m *wire.Forward) error {
	if !c.member(c.Peer.NodeID) {
		return c.Fail(f, wire.CodeNotLeader, "node %d is not a member of this cluster", c.Peer.NodeID)
	}
	out, err := c.n.cfg.Handler.Forward(ctx, c.Peer.NodeID, *m)
	return c.answer(f, wire.OpForwardOK, &wire.ForwardOK{Outcome: out}, wire.CodeInternal, err)
}

func (c *inbound) readIndex(ctx context.Context, f wire.Frame) error {
	if !c.n.IsLeader() {
		return c.Fail(f, wire.CodeNotLeader, "%v", ErrNotLeader)
	}
	i, err := c.n.ReadIndex(ctx)
	return c.answer(f, wire.OpReadIndexOK, &wire.ReadIndexOK{Index: i, Term: c.n.Term()}, wire.CodeNoQuorum, err)
}

func (c *inbound) membership(ctx context.Context, f wire.Frame, m *wire.Membership) error {
	if m.Action == "form" {
		err := c.n.acceptFounding(c.Peer.NodeID, *m)
		return c.answer(f, wire.OpMembershipOK, &wire.MembershipOK{Message: "founded"}, wire.CodeInternal, err)
	}
	joins := m.Action == "join" && m.NodeID == c.Peer.NodeID
	if !c.n.IsLeader() && joins {
		return c.forwardJoin(ctx, f, *m)
	}
	if !c.n.IsLeader() {
		return c.Fail(f, wire.CodeNotLeader, "%v", ErrNotLeader)
	}
	if !joins && !c.member(c.Peer.NodeID) {
		return c.Fail(f, wire.CodeNotLeader, "node %d is not a member of this cluster", c.Peer.NodeID)
	}
	ok, err := c.n.change(ctx, c.Peer.NodeID, *m)
	code := wire.CodeInternal
	switch {
	case errors.Is(err, errIdentity):
		c.n.log.Warn("node refused: it uses the id of another member", "peer", m.NodeID, "addr", m.Addr, "err", err)
		code = wire.CodeAuthInvalid
	case errors.Is(err, ErrUnknownOutcome):
		code = wire.CodeNoQuorum
	}
	return c.answer(f, wire.OpMembershipOK, &ok, code, err)
}

// forwardJoin forwards a node's join request to the leader, which may not be among the node's configured peers. A
// forwarded request names another node than its sender, and is not forwarded again.
func (c *inbound) forwardJoin(ctx context.Context, f wire.Frame, m wire.Membership) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	var ok wire.MembershipOK
	err := c.n.askLeader(ctx, wire.OpMembership, &m, wire.OpMembershipOK, &ok)
	if pe, ok := errors.AsType[*transport.PeerError](err); ok {
		return c.Fail(f, pe.Code, "%s", pe.Text)
	}
	return c.answer(f, wire.OpMembershipOK, &ok, wire.CodeNotLeader, err)
}
