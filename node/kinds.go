package node

import (
	"errors"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// readByAll refuses operations that some member cannot read: one that met them would stop. What is in the log already
// is read by all, for nobody else is let in.
func (s *Service) readByAll(newer oplog.Kinds) error {
	if len(newer) == 0 {
		return nil
	}
	inTheLog := func(k byte) bool { return s.needed[k].Load() }
	if newer = slices.DeleteFunc(slices.Clone(newer), inTheLog); len(newer) == 0 {
		return nil
	}
	if err := s.state.Read(func(v *oplog.View) error {
		for _, k := range v.Needs() {
			s.needed[k].Store(true)
		}
		return nil
	}); err != nil {
		return err
	}
	if newer = slices.DeleteFunc(newer, inTheLog); len(newer) == 0 {
		return nil
	}
	for _, id := range s.raft.Others() {
		if err := s.readBy(id, newer, true); err != nil {
			return err
		}
	}
	return nil
}

// readBy refuses operations that a member has not said it reads; one that was not heard at all passes unless it must have been.
func (s *Service) readBy(id uint32, newer oplog.Kinds, heard bool) error {
	told, ok := s.raft.Told(id)
	switch missing := told.Reads.Lacks(newer); {
	case !ok && heard:
		return oplog.Errorf(oplog.TooOld, "node %d has not said yet whether it reads %s: start it, or remove it", id, newer)
	case ok && len(missing) > 0:
		return oplog.Errorf(oplog.TooOld, "node %d (version %s) does not read %s: upgrade it first", id, told.Version, missing)
	}
	return nil
}

// mayPropose refuses what this node may not propose: as leader it answers for all members, otherwise for the leader, who
// answers for the others.
func (s *Service) mayPropose(ops []oplog.Op) error {
	newer := oplog.Newer(ops)
	if s.machine.leads() {
		return s.readByAll(newer)
	}
	if id, ok := s.machine.leader(); ok {
		return s.readBy(id, newer, false)
	}
	return nil
}

// tooOld says that an entry was refused because of its kinds, and by whichever version: nothing was written.
func tooOld(err error) bool {
	return errors.Is(err, &oplog.Error{Kind: oplog.TooOld}) || errors.Is(err, errUnreadable)
}

// errUnreadable refuses an entry that this version cannot read, or nobody can.
var errUnreadable = &oplog.Error{Kind: oplog.Invalid, Text: "the entry is unreadable"}
