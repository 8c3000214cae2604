package commit

import (
	"errors"
	"slices"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// requireAllDecode rejects operations of kinds that some member cannot decode: a member that met one would stop.
// Kinds that the log has already are decoded by all members, because a node that cannot is not admitted.
func (l *Log) requireAllDecode(newer oplog.Kinds) error {
	if len(newer) == 0 {
		return nil
	}
	inLog := func(k byte) bool { return l.kindsInLog[k].Load() }
	if newer = slices.DeleteFunc(slices.Clone(newer), inLog); len(newer) == 0 {
		return nil
	}
	needs, err := state.Get(l.opts.State, (*state.View).NeededKinds)
	if err != nil {
		return err
	}
	for _, k := range needs {
		l.kindsInLog[k].Store(true)
	}
	if newer = slices.DeleteFunc(newer, inLog); len(newer) == 0 {
		return nil
	}
	for _, id := range l.raft.Others() {
		if err := l.requireMemberDecodes(id, newer, true); err != nil {
			return err
		}
	}
	return nil
}

// requireMemberDecodes rejects operations of kinds that a member has not said it decodes. A member that has not said
// anything since this node started passes, unless it must have been heard.
func (l *Log) requireMemberDecodes(id uint32, newer oplog.Kinds, heard bool) error {
	told, ok := l.raft.PeerVersion(id)
	switch missing := told.Reads.Lacks(newer); {
	case !ok && heard:
		return oplog.Errorf(oplog.TooOld, "node %d has not said yet whether it reads %s: start it, or remove it", id, newer)
	case ok && len(missing) > 0:
		return oplog.Errorf(oplog.TooOld, "node %d (version %s) does not read %s: upgrade it first", id, told.Version, missing)
	}
	return nil
}

// checkDecodable rejects operations that this node must not propose: a leader checks all members, a follower the
// leader, which checks the others when the entry arrives there.
func (l *Log) checkDecodable(ops []oplog.Op) error {
	newer := oplog.Newer(ops)
	if l.Leads() {
		return l.requireAllDecode(newer)
	}
	if id, ok := l.Leader(); ok {
		return l.requireMemberDecodes(id, newer, false)
	}
	return nil
}

// IsTooOld reports that an entry was rejected because a member cannot decode its kinds, and that nothing was written. A
// leader of an older version says errUnreadable.
func IsTooOld(err error) bool {
	return errors.Is(err, &oplog.Error{Kind: oplog.TooOld}) || errors.Is(err, errUnreadable)
}

// errUnreadable rejects an entry that this version cannot decode.
var errUnreadable = &oplog.Error{Kind: oplog.Invalid, Text: "the entry is unreadable"}
