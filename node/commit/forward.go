package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

// forwarded is the outcome of a forwarded entry on its way back from the leader.
type forwarded struct {
	Index    oplog.Index    `msgpack:"i"`
	Results  []oplog.Result `msgpack:"r,omitempty"`
	Err      *oplog.Error   `msgpack:"e,omitempty"` // a replicated rejection, or, without Index, the leader's own
	Replayed bool           `msgpack:"p,omitempty"`
}

// forward sends an entry to the leader, and repeats it until an answer reports the outcome or ctx ends. The entry's key
// makes repeating safe, so the outcome stays unknown only when ctx ends. A rejection is final if no earlier attempt may
// still be applied, or if Apply made it under a node's key: Apply would reject the earlier attempt too.
func (l *Log) forward(ctx context.Context, by wire.Asker, e oplog.Entry) (oplog.Outcome, error) {
	body, err := e.Encode()
	if err != nil {
		return oplog.Outcome{}, err
	}
	var unsure error // why an earlier attempt may still be applied: it was not answered, or was rejected after one that was not
	for {
		changed, led := l.raft.Changed(), l.Leads()
		o, err := l.tryOnce(ctx, by, e, body)
		var refusal *oplog.Error
		switch {
		case err == nil && (o.Err == nil || unsure == nil || strings.HasPrefix(e.Key, oplog.ForwardKey)):
			return o, nil
		case err == nil: // rejected under a client's key
			unsure = o.Err
		case errors.Is(err, raft.ErrNotLeader), errors.Is(err, api.ErrNoLeader), errors.Is(err, raft.ErrNoLeader),
			errors.Is(err, &oplog.Error{Kind: oplog.NotLeader}):
		case errors.As(err, &refusal) && refusal.Kind != oplog.UnknownOutcome && unsure == nil:
			return o, err
		default:
			unsure = err
		}
		if _, known := l.Leader(); !known && unsure == nil {
			if why, _ := l.opts.NoQuorum(); why != "" {
				return o, l.NoLeader()
			}
		}
		if !led && l.Leads() {
			continue // leadership came here meanwhile
		}
		if err := awaitChange(ctx, changed); err != nil {
			if unsure != nil {
				return o, unknownOutcome(unsure)
			}
			if err := l.opts.Disk.Refusal(); err != nil { // a full disk may be why there is no leader
				return o, err
			}
			return o, l.NoLeader()
		}
	}
}

// tryOnce gives an entry to the leader once, which may be this node. body is the entry encoded.
func (l *Log) tryOnce(ctx context.Context, by wire.Asker, e oplog.Entry, body []byte) (oplog.Outcome, error) {
	if l.Leads() {
		return l.enter(ctx, access.Asker{Asker: by, Node: l.opts.NodeID}, e)
	}
	out, err := l.raft.Forward(ctx, wire.Forward{Entry: body, Asker: by})
	if err != nil {
		return oplog.Outcome{}, err
	}
	return decodeOutcome(out)
}

// decodeOutcome decodes what a leader answers.
func decodeOutcome(answer []byte) (oplog.Outcome, error) {
	var r forwarded
	if err := oplog.Unpack(answer, &r); err != nil {
		return oplog.Outcome{}, unknownOutcome(err)
	}
	if r.Index == 0 && r.Err != nil {
		return oplog.Outcome{}, r.Err
	}
	return oplog.Outcome{Index: r.Index, Results: r.Results, Err: r.Err, Replayed: r.Replayed}, nil
}

// Send sends an operator's entry to the leader, which must be one of the client's members, within half a minute. The
// entry has a key, so it may be sent twice.
func Send(ctx context.Context, to *raft.Client, e oplog.Entry) (oplog.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	body, err := e.Encode()
	if err != nil {
		return oplog.Outcome{}, err
	}
	for {
		var errs []error
		for _, addr := range to.Addrs() {
			out, err := to.Forward(ctx, addr, wire.Forward{Entry: body, Asker: wire.Asker{By: "operator"}})
			if err == nil {
				var o oplog.Outcome
				if o, err = decodeOutcome(out); !errors.Is(err, &oplog.Error{Kind: oplog.NotLeader}) &&
					!errors.Is(err, &oplog.Error{Kind: oplog.Unavailable}) {
					return o, err
				}
			}
			errs = append(errs, fmt.Errorf("%s: %w", addr, err))
		}
		if pause.For(ctx, sendAgain) != nil { // a leader may be elected just now
			return oplog.Outcome{}, errors.Join(errs...)
		}
	}
}

const (
	sendFor   = 30 * time.Second
	sendAgain = 200 * time.Millisecond
)

// Forwarded writes another member's entry to the log and returns its encoded outcome, for raft.Handler.
func (l *Log) Forwarded(ctx context.Context, from uint32, m wire.Forward) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.ApplyTimeout)
	defer cancel()
	if err := l.WaitOpen(ctx); err != nil {
		return nil, err
	}
	var r forwarded
	o, err := l.enterForwarded(ctx, from, m)
	if err != nil {
		if !errors.As(err, &r.Err) {
			r.Err = &oplog.Error{Kind: oplog.Internal, Text: "internal error"}
		}
	} else {
		r.Index, r.Results, r.Err, r.Replayed = o.Index, o.Results, o.Err, o.Replayed
	}
	return oplog.Pack(nil, &r), nil
}

func (l *Log) enterForwarded(ctx context.Context, from uint32, m wire.Forward) (oplog.Outcome, error) {
	if !l.Leads() {
		return oplog.Outcome{}, l.NotLeader()
	}
	e, err := decodeForwarded(from, m.Entry)
	if err != nil {
		return oplog.Outcome{}, err
	}
	return l.enter(ctx, access.Asker{Asker: m.Asker, Node: from}, e)
}

// decodeForwarded decodes and checks an entry from another member: every replica will have to decode it, and a member
// says only its own addresses and its own key. The scan comes first, because nested values can exhaust a decoder's
// stack.
func decodeForwarded(from uint32, body []byte) (e oplog.Entry, err error) {
	if e, err = decodeScanned(body); err != nil || len(e.Ops) == 0 {
		return e, errUnreadable
	}
	for _, op := range e.Ops {
		if a, ok := op.(*oplog.Advertise); ok && a.Node != from {
			return e, oplog.Errorf(oplog.Denied, "node %d says where node %d is", from, a.Node)
		}
	}
	return e, nil
}

// decodeScanned decodes an entry that another node has made.
func decodeScanned(body []byte) (e oplog.Entry, err error) {
	for rest := body; len(rest) > 0; {
		n, err := wire.Scan(rest)
		if err != nil {
			return e, err
		}
		rest = rest[n:]
	}
	return oplog.DecodeEntry(body)
}

// CheckRecord returns why a record of another node's log cannot be applied by this version.
func CheckRecord(rec []byte) error {
	if len(rec) == 0 {
		return nil // it changes nothing
	}
	_, bodies, err := oplog.DecodeRecord(rec)
	for _, body := range bodies {
		if err == nil {
			_, err = decodeScanned(body)
		}
	}
	return err
}
