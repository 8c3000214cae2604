package raft

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/wire"
)

// transport is the library's Transport over the cluster opcodes: the calling side. The answering side is inbound.go.
type transport struct {
	n        *Node
	consumer chan hraft.RPC
}

func serverID(id uint32) hraft.ServerID { return hraft.ServerID(strconv.FormatUint(uint64(id), 10)) }

func nodeID(id hraft.ServerID) uint32 {
	v, _ := strconv.ParseUint(string(id), 10, 32) // ids are ours: serverID made them
	return uint32(v)
}

func (t *transport) Consumer() <-chan hraft.RPC                                { return t.consumer }
func (t *transport) LocalAddr() hraft.ServerAddress                            { return hraft.ServerAddress(t.n.cfg.Advertise) }
func (t *transport) EncodePeer(_ hraft.ServerID, a hraft.ServerAddress) []byte { return []byte(a) }
func (t *transport) DecodePeer(b []byte) hraft.ServerAddress                   { return hraft.ServerAddress(b) }
func (t *transport) SetHeartbeatHandler(func(hraft.RPC))                       {} // see heartbeat.go

// consume hands a request to the library's main task and waits for its answer.
func (t *transport) consume(ctx context.Context, cmd any, body io.Reader) (any, error) {
	ch := make(chan hraft.RPCResponse, 1)
	select {
	case t.consumer <- hraft.RPC{Command: cmd, Reader: body, RespChan: ch}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case r := <-ch:
		return r.Response, r.Error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func packAppend(n *Node, a *hraft.AppendEntriesRequest) (wire.Op, wire.Message) {
	r := &wire.RaftAppend{Term: a.Term, Leader: n.cfg.NodeID, LeaderAddr: n.cfg.Advertise, PrevIndex: a.PrevLogEntry,
		PrevTerm: a.PrevLogTerm, Commit: n.logs.CapSynced(a.LeaderCommitIndex), Acknowledged: n.acknowledged()}
	if isHeartbeat(a) {
		r.Clock = micros(n.Clock().Time)
	}
	if len(a.Entries) == 0 {
		if isHeartbeat(a) {
			r.Last, r.Chain = n.tellAcknowledged(), n.tellChain()
		}
		return wire.OpHeartbeat, &wire.Heartbeat{Term: a.Term, LeaderID: n.cfg.NodeID, LeaderLastHLC: []byte{}, Raft: r}
	}
	r.Entries = make([]wire.RaftEntry, len(a.Entries))
	for i, l := range a.Entries {
		r.Entries[i] = wire.RaftEntry{Index: l.Index, Term: l.Term, Type: uint8(l.Type), Data: l.Data, Extensions: l.Extensions, AppendedAt: nanos(l.AppendedAt)}
	}
	return wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: []wire.OplogEntry{}, Raft: r}
}

// micros is a time as clocks are told; 0 for one before 1970, which is none.
func micros(t time.Time) uint64 { return uint64(max(t.UnixMicro(), 0)) }

func fromMicros(us uint64) time.Time {
	if us == 0 || us > math.MaxInt64 {
		return time.Time{}
	}
	return time.UnixMicro(int64(us))
}

// nanos is when a record was appended, as it travels; 0 for never.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// appendBytes bounds the records of one frame, unless a single one is larger: the library counts records and knows
// nothing of their size, and a follower refuses a frame that is too long for ever.
const appendBytes = 4 << 20

// split makes requests of a request's records that fit into frames; each follows on the one before.
func split(a *hraft.AppendEntriesRequest) (parts []*hraft.AppendEntriesRequest) {
	prev, prevTerm, rest := a.PrevLogEntry, a.PrevLogTerm, a.Entries
	for {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size+len(rest[n].Data) <= appendBytes) {
			size += len(rest[n].Data)
			n++
		}
		p := *a
		p.PrevLogEntry, p.PrevLogTerm, p.Entries = prev, prevTerm, rest[:n]
		parts = append(parts, &p)
		if rest = rest[n:]; len(rest) == 0 {
			return parts
		}
		last := p.Entries[n-1]
		prev, prevTerm = last.Index, last.Term
	}
}

// unpackAppend reads either answer to an append; clock is the follower's.
func unpackAppend(f wire.Frame, resp *hraft.AppendEntriesResponse) (clock uint64, err error) {
	var r *wire.RaftAppendReply
	switch f.Op {
	case wire.OpHeartbeatAck:
		var m wire.HeartbeatAck
		if err := wire.Unpack(f, &m, wire.MaxPlainPeer); err != nil {
			return 0, err
		}
		r = m.Raft
	case wire.OpOplogPushOK:
		var m wire.OplogPushOK
		if err := wire.Unpack(f, &m, wire.MaxPlainPeer); err != nil {
			return 0, err
		}
		r = m.Raft
	}
	if r == nil {
		return 0, fmt.Errorf("answer %s is not of a member", f.Op)
	}
	resp.Term, resp.LastLog, resp.Success, resp.NoRetryBackoff = r.Term, r.LastLog, r.Success, r.NoRetryBackoff
	return r.Clock, nil
}

func (t *transport) AppendEntries(id hraft.ServerID, addr hraft.ServerAddress, a *hraft.AppendEntriesRequest, resp *hraft.AppendEntriesResponse) error {
	if isHeartbeat(a) {
		err := t.append(forHeartbeat, id, addr, a, resp)
		if err != nil { // what its other connection has under way would be waited for until the system gives it up
			t.n.pool.cut(string(addr), forAppend)
		}
		return err
	}
	err := t.append(forAppend, id, addr, a, resp)
	if err != nil {
		t.n.heardAgain(t.n.ctx, nodeID(id))
	}
	return err
}

func (t *transport) append(purpose string, id hraft.ServerID, addr hraft.ServerAddress, a *hraft.AppendEntriesRequest, resp *hraft.AppendEntriesResponse) error {
	deadline := time.Now().Add(t.n.appendTimeout(purpose))
	ctx, cancel := context.WithDeadline(t.n.ctx, deadline)
	defer cancel()
	c, err := t.n.pool.member(ctx, nodeID(id), string(addr), purpose)
	if err != nil {
		return err
	}
	for _, part := range split(a) {
		sent := time.Now()
		deadline = sent.Add(t.n.appendTimeout(purpose))
		op, m := packAppend(t.n, part)
		if err = c.send(deadline, op, m); err == nil {
			var f wire.Frame
			if f, err = c.next(deadline); err == nil {
				var clock uint64
				clock, err = unpackAppend(f, resp)
				t.n.clocks.answered(nodeID(id), fromMicros(clock), time.Since(sent))
			}
		}
		if err != nil || !resp.Success {
			break
		}
	}
	if err != nil {
		t.n.pool.forget(string(addr), purpose, c)
		return err
	}
	t.n.pool.put(string(addr), purpose, c)
	t.n.heard(nodeID(id), resp.LastLog)
	if resp.Success {
		t.n.acknowledgedBy(id, a.Entries)
	}
	return nil
}

// appendTimeout bounds an exchange: a heartbeat that is slower than an election is no heartbeat.
func (n *Node) appendTimeout(purpose string) time.Duration {
	if purpose == forHeartbeat {
		return max(n.cfg.Election, time.Second)
	}
	return rpcTimeout
}

func (t *transport) RequestVote(id hraft.ServerID, addr hraft.ServerAddress, a *hraft.RequestVoteRequest, resp *hraft.RequestVoteResponse) error {
	v, err := t.vote(id, addr, &wire.RaftVote{Term: a.Term, Candidate: t.n.cfg.NodeID, Addr: t.n.cfg.Advertise,
		LastIndex: a.LastLogIndex, LastTerm: a.LastLogTerm, Transfer: a.LeadershipTransfer})
	if err != nil {
		return err
	}
	resp.Term, resp.Granted = v.Term, v.Granted
	return nil
}

// RequestPreVote makes the transport a WithPreVote.
func (t *transport) RequestPreVote(id hraft.ServerID, addr hraft.ServerAddress, a *hraft.RequestPreVoteRequest, resp *hraft.RequestPreVoteResponse) error {
	v, err := t.vote(id, addr, &wire.RaftVote{Term: a.Term, Candidate: t.n.cfg.NodeID, Addr: t.n.cfg.Advertise,
		LastIndex: a.LastLogIndex, LastTerm: a.LastLogTerm, PreVote: true})
	if err != nil {
		return err
	}
	resp.Term, resp.Granted = v.Term, v.Granted
	return nil
}

func (t *transport) vote(id hraft.ServerID, addr hraft.ServerAddress, v *wire.RaftVote) (*wire.RaftVoteReply, error) {
	if t.n.amnesiac() {
		return nil, errors.New("this node has no state and asks for no votes") // its vote for itself may be its second
	}
	deadline := time.Now().Add(max(t.n.cfg.Election, time.Second))
	ctx, cancel := context.WithDeadline(t.n.ctx, deadline)
	defer cancel()
	c, err := t.n.pool.member(ctx, nodeID(id), string(addr), forHeartbeat)
	if err != nil {
		return nil, err
	}
	var f wire.Frame
	var m wire.Vote
	err = c.send(deadline, wire.OpRequestVote, &wire.RequestVote{Term: v.Term, CandidateID: v.Candidate, LastLogHLC: []byte{}, Raft: v})
	if err == nil {
		if f, err = c.next(deadline); err == nil {
			err = wire.Unpack(f, &m, wire.MaxPlainPeer)
		}
	}
	if err == nil && m.Raft == nil {
		err = errors.New("the vote is not of a member")
	}
	if err != nil {
		t.n.pool.forget(string(addr), forHeartbeat, c)
		return nil, err
	}
	t.n.pool.put(string(addr), forHeartbeat, c)
	return m.Raft, nil
}

// chunkSize is how much of a snapshot goes into a frame.
const chunkSize = 256 << 10

func (t *transport) InstallSnapshot(id hraft.ServerID, addr hraft.ServerAddress, a *hraft.InstallSnapshotRequest, resp *hraft.InstallSnapshotResponse, data io.Reader) error {
	c, err := t.n.pool.dial(t.n.ctx, string(addr), forSnapshot)
	if err != nil {
		t.n.heardAgain(t.n.ctx, nodeID(id))
		return err
	}
	defer t.n.pool.drop(c)
	if err := c.is(nodeID(id)); err != nil {
		return err
	}
	t.n.log.Info("sending snapshot", "peer", id, "index", a.LastLogIndex, "bytes", a.Size)
	if err := sendSnapshot(c, t.n.cfg.NodeID, t.n.cfg.Advertise, a, data); err != nil {
		return fmt.Errorf("snapshot to %s: %w", addr, err)
	}
	var ok wire.SnapshotOK
	if err := c.answer(time.Now().Add(10*time.Minute), wire.OpSnapshotOK, &ok); err != nil { // the peer restores before it answers
		return fmt.Errorf("snapshot to %s: %w", addr, err)
	}
	resp.Term, resp.Success = ok.Term, ok.Success
	return nil
}

func sendSnapshot(c *conn, node uint32, advertise string, a *hraft.InstallSnapshotRequest, data io.Reader) error {
	begin := &wire.SnapshotBegin{Term: a.Term, Leader: node, LeaderAddr: advertise, LastIndex: a.LastLogIndex, LastTerm: a.LastLogTerm,
		Configuration: a.Configuration, ConfigurationIndex: a.ConfigurationIndex, Size: uint64(a.Size)}
	if err := c.send(time.Now().Add(rpcTimeout), wire.OpSnapshotBegin, begin); err != nil {
		return err
	}
	h := sha256.New()
	buf := make([]byte, chunkSize)
	for at := int64(0); ; {
		n, err := io.ReadFull(data, buf[:min(chunkSize, a.Size-at)])
		if err != nil {
			return err
		}
		h.Write(buf[:n])
		chunk := &wire.SnapshotChunk{Offset: uint64(at), Data: buf[:n]}
		at += int64(n)
		if at == a.Size {
			chunk.Sum = h.Sum(nil)
		}
		if err := c.send(time.Now().Add(time.Minute), wire.OpSnapshotChunk, chunk); err != nil {
			return err
		}
		if at == a.Size {
			return nil
		}
	}
}

func (t *transport) TimeoutNow(_ hraft.ServerID, addr hraft.ServerAddress, _ *hraft.TimeoutNowRequest, _ *hraft.TimeoutNowResponse) error {
	ctx, cancel := context.WithTimeout(t.n.ctx, rpcTimeout)
	defer cancel()
	return t.n.pool.call(ctx, string(addr), forHeartbeat, wire.OpTimeoutNow,
		&wire.TimeoutNow{Leader: t.n.cfg.NodeID, LeaderAddr: t.n.cfg.Advertise}, wire.OpTimeoutNowOK, &wire.Nothing{})
}

// Close makes the transport a WithClose; the node closes its connections itself, before Raft.
func (t *transport) Close() error { return nil }
