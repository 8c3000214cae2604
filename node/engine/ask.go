package engine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Members ask each other over the peer port, on behalf of a caller that one of them has authenticated. The caller's
// token never leaves the node that received it: other members get its hash, and look up its rights themselves.

const (
	othersTimeout = 3 * time.Second  // how long a node waits for the others' answers
	memberTimeout = 10 * time.Minute // of a round of cognition
)

// memberAnswer is one member's answer to another.
type memberAnswer struct {
	Answer []byte       `msgpack:"a,omitempty"` // JSON
	Err    *oplog.Error `msgpack:"e,omitempty"`
}

// askMember asks the member at an address to run an operation. After an error that is not an *oplog.Error the member
// may or may not have run it.
func (s *Service) askMember(ctx context.Context, c api.Caller, addr string, op *api.Op, request any) ([]byte, error) {
	b, err := asJSON(op, request)
	if err != nil {
		return nil, err
	}
	m := wire.Forward{Asker: wire.Asker{By: c.By, Label: c.Label}, Operation: op.Name, Request: b, Database: c.Database, Token: c.Token}
	var ok wire.ForwardOK
	if err := s.raft.Ask(ctx, addr, wire.OpForward, &m, wire.OpForwardOK, &ok); err != nil {
		return nil, err
	}
	var a memberAnswer
	if err := oplog.Unpack(ok.Outcome, &a); err != nil {
		return nil, err
	}
	if a.Err != nil {
		return nil, a.Err
	}
	return a.Answer, nil
}

// askLeader asks the leader to run an operation, if the caller's surface forwards its writes. It returns when this
// node has applied the result.
func (s *Service) askLeader(ctx context.Context, c api.Caller, op *api.Op, request, answer any) error {
	id, addr, led := s.raft.Leader()
	if !c.Forward || !led || id == s.cfg.Member.NodeID || c.Asked {
		return s.commit.NotLeader()
	}
	asking, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	raw, err := s.askMember(asking, c, addr, op, request)
	var refused *oplog.Error
	switch {
	case errors.As(err, &refused) && refused.Kind == oplog.NotLeader:
		return oplog.Errorf(oplog.Unavailable, "the leader has changed; retry")
	case errors.As(err, &refused):
		return refused
	case err != nil:
		return &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader did not answer", Err: err}
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader's answer to " + op.Name + " cannot be read", Err: err}
	}
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil {
		return &oplog.Error{Kind: oplog.UnknownOutcome,
			Text: "the leader has finished, but this node has not applied the result yet", Err: err}
	}
	return nil
}

// asJSON encodes a request as a client would send it, without blank fields that it need not have.
func asJSON(op *api.Op, request any) ([]byte, error) {
	b, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &fields); err != nil {
		return nil, err
	}
	needs := func(name string) bool {
		return slices.ContainsFunc(op.Takes(), func(f field.Field) bool { return f.Name == name && f.Must })
	}
	maps.DeleteFunc(fields, func(name string, v json.RawMessage) bool {
		return string(v) == "null" || string(v) == `""` && !needs(name)
	})
	return json.Marshal(fields)
}

// memberOperations holds the operations that members ask each other for.
var memberOperations = func() map[string]*api.Op {
	all := map[string]*api.Op{}
	for _, op := range api.Ops {
		if op.Asked {
			all[op.Name] = op
		}
	}
	return all
}()

// answerMember answers another member's request for an operation.
func (s *Service) answerMember(ctx context.Context, m wire.Forward) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	if err := s.commit.WaitOpen(ctx); err != nil {
		return nil, err
	}
	var a memberAnswer
	answer, err := s.doForMember(ctx, m)
	if err == nil {
		a.Answer, err = json.Marshal(answer)
	}
	if err != nil && !errors.As(err, &a.Err) {
		a.Err = &oplog.Error{Kind: oplog.Internal, Text: "internal error"}
	}
	return oplog.Pack(nil, &a), nil
}

func (s *Service) doForMember(ctx context.Context, m wire.Forward) (any, error) {
	op, known := memberOperations[m.Operation]
	if !known {
		return nil, oplog.Errorf(oplog.Denied, "members ask each other for no operation %q", m.Operation)
	}
	c, err := s.access.Asked(ctx, m.Token, m.By, m.Database)
	if err != nil {
		return nil, err
	}
	c.Label, c.Counted = m.Label, math.MaxInt // it was counted where it came in
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(m.Request, &fields); err != nil {
		return nil, oplog.Errorf(oplog.Invalid, "request of %s: want an object", op.Name)
	}
	request := op.New()
	if err := op.Takes().Decode(request, fields, false); err != nil {
		return nil, oplog.Errorf(oplog.Invalid, "%s: %s", op.Name, err)
	}
	return s.Do(ctx, c, op, request)
}

// askOthers returns a function that requests an operation from all other members at once. The answer of a member that
// does not answer in time is nil.
func askOthers[Q, A any](s *Service, o api.Of[Q, A]) func(context.Context, api.Caller, *Q) map[uint32]*A {
	return func(ctx context.Context, c api.Caller, request *Q) map[uint32]*A {
		others := slices.DeleteFunc(s.raft.Status().Members, func(m raft.Member) bool { return m.ID == s.cfg.Member.NodeID })
		ctx, cancel := context.WithTimeout(ctx, othersTimeout)
		defer cancel()
		answers := make([]*A, len(others))
		var all sync.WaitGroup
		for i, m := range others {
			all.Go(func() {
				raw, err := s.askMember(ctx, c, m.Addr, o.Op, request)
				if a := new(A); err == nil && json.Unmarshal(raw, a) == nil {
					answers[i] = a
				}
			})
		}
		all.Wait()
		by := map[uint32]*A{}
		for i, m := range others {
			by[m.ID] = answers[i]
		}
		return by
	}
}
