package state

import (
	"bytes"
	"encoding/hex"

	"github.com/cairndb/cairn/oplog"
)

var keyLastEvent = []byte("last")

func applyEvent(a *entryTxn, op *oplog.Event) oplog.Result {
	rejectf(op.Workspace == "" || op.Session == "" || op.Tool == "", oplog.Invalid, "an event needs a workspace, a session and a tool")
	rejectf(len(op.Hash) == 0, oplog.Invalid, "an event needs the hash of its content")
	checkEventStatus(op.Status, op.Summary)
	known := eventKey(op.Workspace, op.Session, op.Hash)
	rejectIf(a.exists(tEventHash, a.db, known), oplog.ErrEventKnown)
	id := oplog.EventID(a.next(tEventCount, a.db, keyLastEvent))
	write(a.txn, tEvent, a.db, be64(uint64(id)), &oplog.StoredEvent{ID: id, Event: *op})
	a.put(tEventHash, a.db, known, be64(uint64(id)))
	if op.Summary != "" {
		a.put(tEventSummary, a.db, []byte(op.Summary), be64(uint64(id)))
	}
	counts := load[oplog.EventCounts](a.txn, tEventCount, a.db, joinKey("workspace", op.Workspace))
	session, old := read[oplog.EventSession](a.txn, tEventSession, a.db, joinKey(op.Workspace, op.Session))
	if !old {
		session = oplog.EventSession{ID: op.Session, Started: op.At, Dir: op.Dir}
		counts.Sessions++
	}
	session.Events++
	write(a.txn, tEventSession, a.db, joinKey(op.Workspace, op.Session), &session)
	counts.Events++
	*statusCounter(&counts, op.Status)++
	write(a.txn, tEventCount, a.db, joinKey("workspace", op.Workspace), &counts)
	return oplog.Result{ID: hex.EncodeToString(op.Hash), Num: uint64(id), Changed: true}
}

func applyEventMark(a *entryTxn, op *oplog.EventMark) oplog.Result {
	e, ok := read[oplog.StoredEvent](a.txn, tEvent, a.db, be64(uint64(op.ID)))
	rejectIf(!ok, oplog.ErrNoEvent)
	checkEventStatus(op.Status, op.Summary)
	rejectf(e.Status == oplog.EventSummarized, oplog.Conflict, "event %d has a summary", op.ID)
	counts := load[oplog.EventCounts](a.txn, tEventCount, a.db, joinKey("workspace", e.Workspace))
	*statusCounter(&counts, e.Status)--
	*statusCounter(&counts, op.Status)++
	write(a.txn, tEventCount, a.db, joinKey("workspace", e.Workspace), &counts)
	if op.Summary != "" {
		a.put(tEventSummary, a.db, []byte(op.Summary), be64(uint64(op.ID)))
	}
	changed := e.Status != op.Status
	e.Status, e.Summary = op.Status, op.Summary
	write(a.txn, tEvent, a.db, be64(uint64(op.ID)), &e)
	return oplog.Result{Num: uint64(op.ID), Changed: changed}
}

func checkEventStatus(s oplog.EventStatus, summary string) {
	rejectf(s > oplog.EventSkipped || (s == oplog.EventSummarized) != (summary != ""), oplog.Invalid,
		"an event's status says whether it has a summary")
}

func statusCounter(c *oplog.EventCounts, s oplog.EventStatus) *uint64 {
	return [...]*uint64{&c.Raw, &c.Summarized, &c.Skipped}[s]
}

func eventKey(workspace, session string, hash []byte) []byte {
	return append(joinKey(workspace, session, ""), hash...)
}

// Event finds an event by its number.
func (v *View) Event(db oplog.DB, id oplog.EventID) (oplog.StoredEvent, bool) {
	return read[oplog.StoredEvent](v.txn, tEvent, db, be64(uint64(id)))
}

// EventWith finds an event by its content; 0 for none.
func (v *View) EventWith(db oplog.DB, workspace, session string, hash []byte) oplog.EventID {
	return oplog.EventID(beUint64(v.get(tEventHash, db, eventKey(workspace, session, hash))))
}

// EventOf finds the event that a memory is the summary of; 0 for none.
func (v *View) EventOf(db oplog.DB, rid string) oplog.EventID {
	return oplog.EventID(beUint64(v.get(tEventSummary, db, []byte(rid))))
}

// Events walks the events from a number on.
func (v *View) Events(db oplog.DB, from oplog.EventID, f func(*oplog.StoredEvent) bool) {
	each(v.scanFrom(tEvent, db, be64(uint64(from))), func(e oplog.StoredEvent) bool { return f(&e) })
}

// SessionHashes walks the hashes of the events of a workspace's sessions, by session name, beginning at a session.
func (v *View) SessionHashes(db oplog.DB, workspace, from string, f func(session string, hash []byte, id oplog.EventID) bool) {
	all := joinKey(workspace, "")
	for k, id := range v.scanFrom(tEventHash, db, joinKey(workspace, from, "")) {
		if !bytes.HasPrefix(k, all) {
			return
		}
		_, rest := cutKey(k)
		session, hash := cutKey(rest)
		if !f(string(session), hash, oplog.EventID(beUint64(id))) {
			return
		}
	}
}

// EventCounts returns a workspace's counters.
func (v *View) EventCounts(db oplog.DB, workspace string) oplog.EventCounts {
	return load[oplog.EventCounts](v.txn, tEventCount, db, joinKey("workspace", workspace))
}
