package oplog

import (
	"cmp"
	"slices"
)

// SessionStart opens a session; one may be active for a (namespace, client).
type SessionStart struct {
	ID        string `msgpack:"id"`
	Namespace string `msgpack:"ns"`
	Client    string `msgpack:"cl,omitempty"`
	Metadata  []byte `msgpack:"md,omitempty"`
	At        Time   `msgpack:"at"`
}

// SessionEnd closes a session and says what it amounted to.
type SessionEnd struct {
	ID      string `msgpack:"id"`
	Summary string `msgpack:"su,omitempty"`
	At      Time   `msgpack:"at"`
}

// Abandon gives up sessions that started before the cutoff and never ended, at most Max of them.
type Abandon struct {
	Before Time   `msgpack:"b"`
	Max    uint32 `msgpack:"m"`
	At     Time   `msgpack:"at"`
}

var sessionFamily = family{
	{KindSessionStart, "session_start", func() Op { return new(SessionStart) }},
	{KindSessionEnd, "session_end", func() Op { return new(SessionEnd) }},
	{KindAbandon, "session_abandon", func() Op { return new(Abandon) }},
}

// Kind implements Op.
func (*SessionStart) Kind() OpKind { return KindSessionStart }

// Kind implements Op.
func (*SessionEnd) Kind() OpKind { return KindSessionEnd }

// Kind implements Op.
func (*Abandon) Kind() OpKind { return KindAbandon }

func (op *SessionStart) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	pair := joinKey(op.Namespace, op.Client)
	if a.get(tActivePair, a.db, pair) != nil {
		return Result{}, Errorf(Conflict, "session conflict: active session already exists for namespace=%s, client_id=%s", op.Namespace, op.Client)
	}
	if a.get(tSession, a.db, []byte(op.ID)) != nil {
		return Result{}, Errorf(Conflict, "session %s is there already", op.ID)
	}
	write(a.txn, tSession, a.db, []byte(op.ID), &Session{ID: op.ID, Namespace: op.Namespace, Client: op.Client,
		Metadata: op.Metadata, Started: op.At, Status: SessionActive})
	a.put(tActivePair, a.db, pair, []byte(op.ID))
	// The newest active session of a namespace is the last key of its prefix.
	a.put(tActiveSession, a.db, append(joinKey(op.Namespace, ""), append(be64(uint64(op.At)), op.ID...)...), []byte(op.ID))
	a.put(tSessionStart, a.db, append(be64(uint64(op.At)), op.ID...), nil)
	a.put(tSessionPair, a.db, pairHistoryKey(op.Namespace, op.Client, op.At, op.ID), nil)
	return Result{ID: op.ID, Changed: true}, nil
}

func (op *SessionEnd) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	s, ok := read[Session](a.txn, tSession, a.db, []byte(op.ID))
	if !ok {
		return Result{}, ErrNoSession
	}
	if s.Status != SessionActive {
		return Result{}, Errorf(Conflict, "session %s has %s", s.ID, s.Status)
	}
	s.Summary = op.Summary
	return Result{ID: s.ID, Changed: true, Session: a.closeSession(&s, SessionEnded, op.At)}, nil
}

func (op *Abandon) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	var stale []Session
	a.scan(tSessionStart, a.db, nil, func(k, _ []byte) bool {
		if len(stale) >= int(op.Max) || Time(beUint64(k)) >= op.Before {
			return false
		}
		if s, ok := read[Session](a.txn, tSession, a.db, k[8:]); ok {
			stale = append(stale, s)
		}
		return true
	})
	for i := range stale {
		a.closeSession(&stale[i], SessionAbandoned, op.At)
	}
	return Result{Num: uint64(len(stale)), Changed: len(stale) > 0}, nil
}

func (a *applying) closeSession(s *Session, status SessionStatus, at Time) *SessionSummary {
	s.Status, s.Ended = status, at
	sum := &SessionSummary{ID: s.ID, Started: s.Started, Ended: at, Memories: s.Memories, Topics: a.topics(s.ID)}
	if s.Memories > 0 {
		sum.Valence = s.ValenceSum / float64(s.Memories)
	}
	s.Topics = sum.Topics
	write(a.txn, tSession, a.db, []byte(s.ID), s)
	a.del(tActivePair, a.db, joinKey(s.Namespace, s.Client))
	a.del(tActiveSession, a.db, append(joinKey(s.Namespace, ""), append(be64(uint64(s.Started)), s.ID...)...))
	a.del(tSessionStart, a.db, append(be64(uint64(s.Started)), s.ID...))
	return sum
}

// A session's topics are counted over its newest memories, so that ending a long session costs no more than a short one.
const (
	maxTopics     = 20
	topicMemories = 500
)

func (a *applying) topics(id string) []string {
	count := map[string]int{}
	seen := 0
	a.scanBack(tSessionMemory, a.db, joinKey(id, ""), func(k, _ []byte) bool {
		if m, ok := read[Memory](a.txn, tMemory, a.db, k[len(k)-8:]); ok {
			for _, e := range m.Entities {
				count[e]++
			}
		}
		seen++
		return seen < topicMemories
	})
	names := make([]string, 0, len(count))
	for n := range count {
		names = append(names, n)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(count[y], count[x]), cmp.Compare(x, y)) })
	return names[:min(len(names), maxTopics)]
}

// joinSession attaches a new memory to the session it names, or to its namespace's newest active one.
func (a *applying) joinSession(m *Memory, named string) *Error {
	id := []byte(named)
	if named == "" && !a.detached {
		a.scanBack(tActiveSession, a.db, joinKey(m.Namespace, ""), func(_, v []byte) bool {
			id = append([]byte(nil), v...)
			return false
		})
	}
	if len(id) == 0 {
		return nil
	}
	s, ok := read[Session](a.txn, tSession, a.db, id)
	if !ok {
		// A named session nobody opened (a transcript's, say) groups memories all the same.
		s = Session{ID: named, Namespace: m.Namespace, Started: m.Created, Status: SessionImplicit}
	}
	m.Session = s.ID
	m.Order = s.Memories
	s.Memories++
	s.ValenceSum += m.Valence
	write(a.txn, tSession, a.db, []byte(s.ID), &s)
	a.put(tSessionMemory, a.db, nameKey(s.ID, m.Seq), nil)
	return nil
}
