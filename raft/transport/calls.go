package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/wire"
)

func (t *Transport) Consumer() <-chan hraft.RPC                                { return t.consumer }
func (t *Transport) LocalAddr() hraft.ServerAddress                            { return hraft.ServerAddress(t.o.Advertise) }
func (t *Transport) EncodePeer(_ hraft.ServerID, a hraft.ServerAddress) []byte { return []byte(a) }
func (t *Transport) DecodePeer(b []byte) hraft.ServerAddress                   { return hraft.ServerAddress(b) }

// SetHeartbeatHandler ignores the handler: only the library's main task handles heartbeats; see heartbeat.go of raft.
func (t *Transport) SetHeartbeatHandler(func(hraft.RPC)) {}

func (t *Transport) packAppend(id uint32, a *hraft.AppendEntriesRequest) (wire.Op, wire.Message) {
	r := t.host.LeaderFields(id, a)
	r.Term, r.Leader, r.LeaderAddr, r.PrevIndex, r.PrevTerm = a.Term, t.o.NodeID, t.o.Advertise, a.PrevLogEntry, a.PrevLogTerm
	if len(a.Entries) == 0 {
		return wire.OpHeartbeat, &wire.Heartbeat{Term: a.Term, LeaderID: t.o.NodeID, LeaderLastHLC: []byte{}, Raft: r}
	}
	r.Entries = make([]wire.RaftEntry, len(a.Entries))
	for i, l := range a.Entries {
		r.Entries[i] = wire.RaftEntry{Index: l.Index, Term: l.Term, Type: uint8(l.Type), Data: l.Data,
			Extensions: l.Extensions, AppendedAt: nanos(l.AppendedAt)}
	}
	return wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: []wire.OplogEntry{}, Raft: r}
}

// Records returns the records of a request.
func Records(entries []wire.RaftEntry) []*hraft.Log {
	out := make([]*hraft.Log, len(entries))
	for i, e := range entries {
		out[i] = &hraft.Log{Index: e.Index, Term: e.Term, Type: hraft.LogType(e.Type), Data: e.Data,
			Extensions: e.Extensions, AppendedAt: fromNanos(e.AppendedAt)}
	}
	return out
}

// nanos encodes the time of a record's append for a message; 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// appendBytes bounds the size of the records in one frame, except for a single larger one. The library counts records
// and ignores their size, and a follower would reject a frame that is too long every time.
const appendBytes = 4 << 20

// split divides a request into consecutive requests that fit into frames.
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

// unpackAppend decodes the answer to an append or a heartbeat.
func unpackAppend(f wire.Frame, resp *hraft.AppendEntriesResponse) (r *wire.RaftAppendReply, err error) {
	switch f.Op {
	case wire.OpHeartbeatAck:
		var m wire.HeartbeatAck
		if err := wire.Unpack(f, &m, wire.MaxPlainPeer); err != nil {
			return nil, err
		}
		r = m.Raft
	case wire.OpOplogPushOK:
		var m wire.OplogPushOK
		if err := wire.Unpack(f, &m, wire.MaxPlainPeer); err != nil {
			return nil, err
		}
		r = m.Raft
	}
	if r == nil {
		return nil, fmt.Errorf("answer %s has no raft map", f.Op)
	}
	resp.Term, resp.LastLog, resp.Success, resp.NoRetryBackoff = r.Term, r.LastLog, r.Success, r.NoRetryBackoff
	return r, nil
}

func (t *Transport) AppendEntries(id hraft.ServerID, addr hraft.ServerAddress, a *hraft.AppendEntriesRequest, resp *hraft.AppendEntriesResponse) error {
	if IsHeartbeat(a) {
		err := t.Append(ForHeartbeat, id, addr, a, resp)
		if err != nil { // end the peer's other connections, or their requests would wait until TCP gives up
			t.Pool.endAppends(string(addr))
		}
		return err
	}
	err := t.Append(ForAppend, id, addr, a, resp)
	if err != nil {
		t.host.WaitAnswer(t.ctx, NodeID(id))
	}
	return err
}

// Append sends records, or asks whether a member follows, on a connection for the given purpose.
func (t *Transport) Append(purpose string, id hraft.ServerID, addr hraft.ServerAddress, a *hraft.AppendEntriesRequest, resp *hraft.AppendEntriesResponse) error {
	for _, part := range split(a) {
		r, err := t.appendPart(purpose, id, addr, part, resp)
		if err != nil {
			return err
		}
		if t.host.Answered(NodeID(id), r); !resp.Success {
			break
		}
	}
	return nil
}

func (t *Transport) appendPart(purpose string, id hraft.ServerID, addr hraft.ServerAddress, part *hraft.AppendEntriesRequest, resp *hraft.AppendEntriesResponse) (*wire.RaftAppendReply, error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.appendTimeout(purpose))
	defer cancel()
	sent := time.Now()
	op, m := t.packAppend(NodeID(id), part)
	f, err := t.Pool.exchange(ctx, NodeID(id), string(addr), purpose, op, m)
	if err != nil {
		return nil, err
	}
	r, err := unpackAppend(f, resp)
	if err == nil {
		t.host.Clocks(NodeID(id), r, time.Since(sent))
	}
	return r, err
}

// appendTimeout returns the timeout of an exchange: for a heartbeat it is an election timeout.
func (t *Transport) appendTimeout(purpose string) time.Duration {
	if purpose == ForHeartbeat {
		return max(t.o.Election, time.Second)
	}
	return RPCTimeout
}

func (t *Transport) RequestVote(id hraft.ServerID, addr hraft.ServerAddress, a *hraft.RequestVoteRequest, resp *hraft.RequestVoteResponse) (err error) {
	resp.Term, resp.Granted, err = t.vote(id, addr,
		&wire.RaftVote{Term: a.Term, LastIndex: a.LastLogIndex, LastTerm: a.LastLogTerm, Transfer: a.LeadershipTransfer})
	return err
}

// RequestPreVote makes the transport a WithPreVote.
func (t *Transport) RequestPreVote(id hraft.ServerID, addr hraft.ServerAddress, a *hraft.RequestPreVoteRequest, resp *hraft.RequestPreVoteResponse) (err error) {
	resp.Term, resp.Granted, err = t.vote(id, addr,
		&wire.RaftVote{Term: a.Term, LastIndex: a.LastLogIndex, LastTerm: a.LastLogTerm, PreVote: true})
	return err
}

// vote requests a member's vote or pre-vote.
func (t *Transport) vote(id hraft.ServerID, addr hraft.ServerAddress, v *wire.RaftVote) (term uint64, granted bool, err error) {
	if err := t.host.MayAskVotes(); err != nil {
		return 0, false, err
	}
	v.Candidate, v.Addr = t.o.NodeID, t.o.Advertise
	ctx, cancel := context.WithTimeout(t.ctx, t.appendTimeout(ForHeartbeat))
	defer cancel()
	f, err := t.Pool.exchange(ctx, NodeID(id), string(addr), ForHeartbeat, wire.OpRequestVote,
		&wire.RequestVote{Term: v.Term, CandidateID: v.Candidate, LastLogHLC: []byte{}, Raft: v})
	var m wire.Vote
	if err == nil {
		err = wire.Unpack(f, &m, wire.MaxPlainPeer)
	}
	switch {
	case err != nil:
		return 0, false, err
	case m.Raft != nil:
		return m.Raft.Term, m.Raft.Granted, nil
	case m.Reason != nil:
		return 0, false, &PeerError{wire.CodeInternal, *m.Reason}
	}
	return 0, false, errors.New("the vote has no raft map")
}

func (t *Transport) TimeoutNow(_ hraft.ServerID, addr hraft.ServerAddress, _ *hraft.TimeoutNowRequest, _ *hraft.TimeoutNowResponse) error {
	ctx, cancel := context.WithTimeout(t.ctx, RPCTimeout)
	defer cancel()
	return t.Pool.Call(ctx, string(addr), ForHeartbeat, wire.OpTimeoutNow,
		&wire.TimeoutNow{Leader: t.o.NodeID, LeaderAddr: t.o.Advertise}, wire.OpTimeoutNowOK, &wire.Nothing{})
}

// Compare requests a member's description of its record at an index.
func (t *Transport) Compare(ctx context.Context, id uint32, addr string, index uint64) (m wire.CompareOK, err error) {
	f, err := t.Pool.exchange(ctx, id, addr, ForAsk, wire.OpCompare, &wire.Compare{Index: index})
	if err == nil {
		err = readAnswer(f, wire.OpCompareOK, &m)
	}
	return m, err
}
