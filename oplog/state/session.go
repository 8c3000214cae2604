package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

func applySessionStart(a *entryTxn, op *oplog.SessionStart) oplog.Result {
	pair := joinKey(op.Namespace, op.Client)
	rejectf(a.exists(tActivePair, a.db, pair), oplog.Conflict,
		"session conflict: active session already exists for namespace=%s, client_id=%s", op.Namespace, op.Client)
	rejectf(a.exists(tSession, a.db, []byte(op.ID)), oplog.Conflict, "session %s exists already", op.ID)
	write(a.txn, tSession, a.db, []byte(op.ID), &oplog.Session{ID: op.ID, Namespace: op.Namespace, Client: op.Client,
		Metadata: op.Metadata, Started: op.At, Status: oplog.SessionActive})
	a.put(tActivePair, a.db, pair, []byte(op.ID))
	// The newest active session of a namespace is the last key of its prefix.
	a.put(tActiveSession, a.db, append(joinKey(op.Namespace, ""), startKey(op.At, op.ID)...), []byte(op.ID))
	a.put(tSessionStart, a.db, startKey(op.At, op.ID), nil)
	a.put(tSessionPair, a.db, append(joinKey(op.Namespace, op.Client, ""), startKey(op.At, op.ID)...), nil)
	return oplog.Result{ID: op.ID, Changed: true}
}

func applySessionEnd(a *entryTxn, op *oplog.SessionEnd) oplog.Result {
	s, ok := read[oplog.Session](a.txn, tSession, a.db, []byte(op.ID))
	rejectIf(!ok, oplog.ErrNoSession)
	rejectf(s.Status != oplog.SessionActive, oplog.Conflict, "session %s has %s", s.ID, s.Status)
	s.Summary = op.Summary
	return oplog.Result{ID: s.ID, Changed: true, Session: a.closeSession(&s, oplog.SessionEnded, op.At)}
}

func applyAbandon(a *entryTxn, op *oplog.Abandon) oplog.Result {
	var r oplog.Result
	for k := range a.scan(tSessionStart, a.db, nil) {
		if r.Num >= uint64(op.Max) || oplog.Time(beUint64(k)) >= op.Before {
			break
		}
		if s, ok := read[oplog.Session](a.txn, tSession, a.db, k[8:]); ok {
			a.closeSession(&s, oplog.SessionAbandoned, op.At)
			r.Num, r.Changed = r.Num+1, true
		}
	}
	return r
}

func (a *entryTxn) closeSession(s *oplog.Session, status oplog.SessionStatus, at oplog.Time) *oplog.SessionSummary {
	s.Status, s.Ended = status, at
	sum := &oplog.SessionSummary{ID: s.ID, Started: s.Started, Ended: at, Memories: s.Memories, Topics: a.topics(s.ID)}
	if s.Memories > 0 {
		sum.Valence = s.ValenceSum / float64(s.Memories)
	}
	s.Topics = sum.Topics
	write(a.txn, tSession, a.db, []byte(s.ID), s)
	a.del(tActivePair, a.db, joinKey(s.Namespace, s.Client))
	a.del(tActiveSession, a.db, append(joinKey(s.Namespace, ""), startKey(s.Started, s.ID)...))
	a.del(tSessionStart, a.db, startKey(s.Started, s.ID))
	return sum
}

// A session's topics are counted over its newest memories, so that ending a long session costs no more than a short
// one.
const (
	maxTopics     = 20
	topicMemories = 500
)

func (a *entryTxn) topics(id string) []string {
	count := a.sessionNames(id)
	names := slices.SortedFunc(maps.Keys(count),
		func(x, y string) int { return cmp.Or(cmp.Compare(count[y], count[x]), cmp.Compare(x, y)) })
	return names[:min(len(names), maxTopics)]
}

// sessionNames counts the names that a session's newest memories have.
func (a *entryTxn) sessionNames(id string) map[string]int {
	count := map[string]int{}
	seen := 0
	for k := range a.scanBack(tSessionMemory, a.db, joinKey(id, "")) {
		if m, ok := a.memoryAt(seqOf(k)); ok {
			for _, e := range m.Entities {
				count[e]++
			}
		}
		if seen++; seen == topicMemories {
			break
		}
	}
	return count
}

// joinSession attaches a new memory to the session it names, or to its namespace's newest active one. An imported
// memory joins none but its own, at its old place; one in quarantine none before its release.
func (a *entryTxn) joinSession(m *oplog.Memory, was *oplog.History) {
	named := m.Session
	id := []byte(named)
	if named == "" && !a.detached && was == nil {
		id = a.activeSession(a.db, m.Namespace)
	}
	if len(id) == 0 || m.Status == oplog.Quarantined {
		return
	}
	// A session that is named and was never started (a transcript's, say) groups memories all the same.
	s := oplog.Session{ID: named, Namespace: m.Namespace, Started: m.Created, Status: oplog.SessionImplicit}
	row := a.get(tSession, a.db, id)
	if row != nil {
		s = decode[oplog.Session](row)
	}
	m.Session = s.ID
	m.Order = s.Memories
	if was != nil {
		m.Order = was.Order
	}
	s.Memories = max(s.Memories, m.Order) + 1
	s.ValenceSum += m.Valence
	a.putOver(tSession, a.db, id, row, a.encode(&s))
	a.putNew(tSessionMemory, a.db, nameKey(s.ID, m.Seq), nil)
}

// namespaceID identifies a namespace of a database.
type namespaceID struct {
	db        oplog.DB
	namespace string
}

// activeSession returns the id of the active session that began last; nil for none. The caller must not change it.
func (t *txn) activeSession(db oplog.DB, namespace string) []byte {
	at := namespaceID{db, namespace}
	return cached(t.cache.newestActive, at, func() []byte {
		_, id := first(t.scanBack(tActiveSession, db, joinKey(namespace, "")))
		return id
	})
}

// startKey sorts sessions by the time of their start.
func startKey(at oplog.Time, id string) []byte { return append(be64(uint64(at)), id...) }

// Sessions walks the sessions of a namespace and a client, the newest first.
func (v *View) Sessions(db oplog.DB, namespace, client string, f func(oplog.Session) bool) {
	v.sessions(db, joinKey(namespace, client, ""), f)
}

// SessionsOf walks all sessions of a namespace, client by client.
func (v *View) SessionsOf(db oplog.DB, namespace string, f func(oplog.Session) bool) {
	v.sessions(db, joinKey(namespace, ""), f)
}

// AllSessions walks all sessions of a database, namespace by namespace.
func (v *View) AllSessions(db oplog.DB, f func(oplog.Session) bool) { v.sessions(db, nil, f) }

func (v *View) sessions(db oplog.DB, prefix []byte, f func(oplog.Session) bool) {
	eachIndexed(v.txn, tSession, db, v.scanBack(tSessionPair, db, prefix), func(k, _ []byte) []byte {
		_, rest := cutKey(k) // the namespace
		_, rest = cutKey(rest)
		return rest[8:]
	}, f)
}

// ActiveSessions walks the sessions that have not ended, the oldest first.
func (v *View) ActiveSessions(db oplog.DB, f func(oplog.Session) bool) {
	eachIndexed(v.txn, tSession, db, v.scan(tSessionStart, db, nil), inKey(8), f)
}

// SessionMemories walks a session's records in the order they were stored.
func (v *View) SessionMemories(db oplog.DB, id string, f func(*oplog.Memory) bool) {
	v.memoriesOf(db, v.scan(tSessionMemory, db, joinKey(id, "")), f)
}

// Session finds a session by its id.
func (v *View) Session(db oplog.DB, id string) (oplog.Session, bool) {
	return read[oplog.Session](v.txn, tSession, db, []byte(id))
}
