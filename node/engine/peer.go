package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// Forward implements raft.Handler: it handles a follower's write on the leader, or another member's request.
func (s *Service) Forward(ctx context.Context, from uint32, m wire.Forward) ([]byte, error) {
	if m.Operation != "" {
		return s.answerMember(ctx, m)
	}
	return s.commit.Forwarded(ctx, from, m)
}

// noteTimeout bounds how long a change of members waits for its audit row: there may be no leader to accept it.
const noteTimeout = 3 * time.Second

// Changed implements raft.Handler: the leader audits a change of members, which is not in the log of operations. The
// change is already made, so an audit row that cannot be written goes to the node's own log.
func (s *Service) Changed(ctx context.Context, from uint32, m wire.Membership) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	err := s.commit.WaitOpen(ctx)
	if err == nil {
		by, on := access.Asker{Asker: m.Asker, Node: from}, fmt.Sprintf("node %d", m.NodeID)
		if m.NodeID == 0 { // a transfer to whichever voter is nearest to the leader
			on = "any node"
		}
		how := ""
		if m.Addr != "" { // it joins: clients send their default of the role with every change
			how = strings.TrimSpace(m.Addr + " " + m.Role)
		}
		err = s.Note(ctx, by.Audit(s.now(), m.Action, on, how))
	}
	if err != nil {
		s.log.Warn("not in the audit", "change", m.Action, "peer", m.NodeID, "err", err)
	}
}

// Push writes operations of a peer that is not a member to the log, if this node leads, and returns the number of new
// ones. It calls refused for each that can never be stored here; it stores the others.
func (s *Service) Push(ctx context.Context, database string, ops []*oplog.Foreign, refused func(*oplog.Foreign, error)) (applied uint64, err error) {
	if !s.commit.Leads() {
		return 0, s.commit.NotLeader()
	}
	c, err := s.access.Local(database)
	if err != nil {
		return 0, err
	}
	c.Forward = false
	secrets, err := s.redactor(c.DB)
	if err != nil {
		return 0, err
	}
	var fit []oplog.Op
	for _, op := range ops {
		if err := checkForeign(op); err != nil {
			refused(op, err)
			continue
		}
		secrets.foreign(op)
		fit = append(fit, op)
	}
	return applied, storeBisecting(fit, func(ops []oplog.Op) error {
		done, err := s.write(ctx, c, ops...)
		if err != nil {
			return err
		}
		for _, r := range done.Results {
			if r.Changed {
				applied++
			}
		}
		return nil
	}, func(err error) bool {
		return oplog.IsKind(err, oplog.Invalid, oplog.Denied, oplog.Conflict, oplog.TooLarge)
	}, func(op oplog.Op, err error) error {
		refused(op.(*oplog.Foreign), err)
		return nil
	})
}

// checkForeign rejects an operation that exceeds the bounds for our clients. Trust boundary: the peer is not a
// member, and every node applies and replays the log.
func checkForeign(op *oplog.Foreign) error {
	if op.OpID == "" {
		return oplog.Errorf(oplog.Invalid, "a pushed operation needs an op_id")
	}
	if len(op.HLC) != 0 && len(op.HLC) != len(oplog.HLC{}) {
		return oplog.Errorf(oplog.Invalid, "hlc has %d bytes, an HLC has %d", len(op.HLC), len(oplog.HLC{}))
	}
	named := []string{op.OpID, op.Type, op.Actor, op.Origin}
	if op.Forgot != nil {
		named = append(named, op.Forgot.RID)
	}
	if r := op.Related; r != nil {
		named = append(named, r.ID, r.Src, r.Dst, r.Type)
	}
	err := cmp.Or(checkSize("payload", len(op.Payload), oplog.MaxPayload), oplog.CheckNames(named...))
	if e := oplog.Check(op); err == nil && e != nil {
		err = e
	}
	return err
}

// Record returns a pushed record as this node would store it, with its numbers clamped to the ranges for our clients.
func (s *Service) Record(d *api.Draft) (*oplog.Remember, error) {
	d.Importance, d.Certainty = max(0, min(d.Importance, 1)), max(0, min(d.Certainty, 1))
	d.Valence = max(-1, min(d.Valence, 1))
	d.Dialect, d.Trust = cmp.Or(d.Dialect, "peer"), oplog.TrustOf(d.Trust)
	return makeRemember(d, s.now(), 0)
}
