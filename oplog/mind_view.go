package oplog

import "bytes"

// since is when a memory became what it is now.
func (m *Memory) since() Time {
	if m.Revision == 0 {
		return m.Created
	}
	return m.Updated
}

func pairHistoryKey(namespace, client string, at Time, id string) []byte {
	return append(joinKey(namespace, client, ""), append(be64(uint64(at)), id...)...)
}

// Conflict finds a conflict by its id.
func (v *View) Conflict(db DB, id string) (ConflictRow, bool) {
	return read[ConflictRow](v.txn, tConflict, db, []byte(id))
}

// Conflicts walks the conflicts of the given statuses, or of all, status by status, the most urgent first.
func (v *View) Conflicts(db DB, statuses []ConflictStatus, f func(ConflictRow) bool) {
	if len(statuses) == 0 {
		statuses = []ConflictStatus{ConflictOpen, ConflictResolved, ConflictDismissed}
	}
	for _, s := range statuses {
		on := true
		v.scan(tConflictOrder, db, []byte{byte(s)}, func(_, id []byte) bool {
			if c, ok := read[ConflictRow](v.txn, tConflict, db, id); ok {
				on = f(c)
			}
			return on
		})
		if !on {
			return
		}
	}
}

// InConflict says whether a memory is a side of an open conflict.
func (v *View) InConflict(db DB, rid string) bool {
	return (&applying{txn: v.txn, db: db}).inConflict(rid)
}

// HadConflict says whether a pair ever had a conflict.
func (v *View) HadConflict(db DB, a, b string) bool {
	return v.get(tConflictPair, db, pairKey(a, b)) != nil
}

// Trigger finds a trigger by its id.
func (v *View) Trigger(db DB, id string) (TriggerRow, bool) {
	return read[TriggerRow](v.txn, tTrigger, db, []byte(id))
}

// Triggers walks the triggers of a status, the newest first.
func (v *View) Triggers(db DB, s TriggerStatus, f func(TriggerRow) bool) {
	v.scan(tTriggerOrder, db, []byte{byte(s)}, func(_, id []byte) bool {
		t, ok := read[TriggerRow](v.txn, tTrigger, db, id)
		return !ok || f(t)
	})
}

// CoolTrigger is the newest trigger under a cooldown key.
func (v *View) CoolTrigger(db DB, key string) (TriggerRow, bool) {
	id := v.get(tTriggerCool, db, []byte(key))
	if id == nil {
		return TriggerRow{}, false
	}
	return v.Trigger(db, string(id))
}

// Patterns walks what was seen, by key.
func (v *View) Patterns(db DB, f func(Pattern) bool) {
	v.scan(tPattern, db, nil, func(_, val []byte) bool { return f(decode[Pattern](val)) })
}

// Pattern finds one by its key.
func (v *View) Pattern(db DB, key string) (Pattern, bool) {
	return read[Pattern](v.txn, tPattern, db, []byte(key))
}

// Personality is what the last THINK made of it.
func (v *View) Personality(db DB) Personality {
	p, ok := read[Personality](v.txn, tMind, db, mindPersonality)
	if !ok {
		return neutralPersonality
	}
	return p
}

// Weights are what the database has learned; ok is false while it has learned nothing.
func (v *View) Weights(db DB) (w Weights, ok bool) {
	return read[Weights](v.txn, tMind, db, mindWeights)
}

// Settings are the database's policies.
func (v *View) Settings(db DB) Settings {
	s, _ := read[Settings](v.txn, tMind, db, mindSettings)
	return s
}

// Mind is how far the database's thinking has come.
func (v *View) Mind(db DB) Mind {
	m, _ := read[Mind](v.txn, tMind, db, mindSelf)
	return m
}

// Judgements walks the feedback, the newest first.
func (v *View) Judgements(db DB, f func(Judgement) bool) {
	v.scanBack(tFeedback, db, nil, func(_, val []byte) bool { return f(decode[Judgement](val)) })
}

// Between walks the memories created from a time up to another, not included, the oldest first.
func (v *View) Between(db DB, from, to Time, f func(*Memory) bool) {
	end := timeKey(to, 0)
	v.scanFrom(tCreated, db, timeKey(from, 0), func(k, _ []byte) bool {
		if bytes.Compare(k, end) >= 0 {
			return false
		}
		m, ok := v.MemoryAt(db, Seq(beUint64(k[8:])))
		return !ok || f(m)
	})
}

// Due walks the memories that are due from a time up to another, not included, the soonest first.
func (v *View) Due(db DB, from, to Time, f func(*Memory) bool) {
	end := timeKey(to, 0)
	v.scanFrom(tDue, db, timeKey(from, 0), func(k, _ []byte) bool {
		if bytes.Compare(k, end) >= 0 {
			return false
		}
		m, ok := v.MemoryAt(db, Seq(beUint64(k[8:])))
		return !ok || f(m)
	})
}

// Past walks the memories that were corrected, merged or forgotten after a time, as they are now; one may come twice.
func (v *View) Past(db DB, after Time, f func(*Memory) bool) {
	v.scanFrom(tPast, db, timeKey(after, 0), func(k, _ []byte) bool {
		m, ok := v.MemoryAt(db, Seq(beUint64(k[8:])))
		return !ok || f(m)
	})
}

// AsOf is a memory as it was believed at a time; ok is false when it was not there yet, or forgotten already.
func (v *View) AsOf(db DB, m *Memory, at Time) (*Memory, bool) {
	if m.Created > at || m.Status != Active && m.Updated <= at {
		return nil, false
	}
	was := *m
	was.Status, was.Into = Active, ""
	if m.Revision == 0 {
		return &was, true
	}
	for _, r := range v.Revisions(db, m.Seq) {
		if r.Until > at {
			was.Text, was.Importance, was.Valence, was.Certainty, was.Metadata = r.Text, r.Importance, r.Valence, r.Certainty, r.Metadata
			was.Revision = r.Number
			break
		}
	}
	return &was, true
}

// EntityMemories walks the memories that name an entity, the newest first.
func (v *View) EntityMemories(db DB, name string, f func(*Memory) bool) {
	v.scanBack(tEntityMemory, db, joinKey(name, ""), func(k, _ []byte) bool {
		m, ok := v.MemoryAt(db, Seq(beUint64(k[len(k)-8:])))
		return !ok || f(m)
	})
}

// NamesEntities says whether a database knows any entity.
func (v *View) NamesEntities(db DB) bool { return v.has(tFolded, db, nil) }

// EntitiesFolded are the entities whose name has a folded form, at most limit.
func (v *View) EntitiesFolded(db DB, folded string, limit int) (names []string) {
	prefix := joinKey(folded, "")
	v.scan(tFolded, db, prefix, func(k, _ []byte) bool {
		names = append(names, string(k[len(prefix):]))
		return len(names) < limit
	})
	return names
}

// EntitiesFrom walks the entities from a name on, by name.
func (v *View) EntitiesFrom(db DB, from string, f func(Entity) bool) {
	v.scanFrom(tEntity, db, []byte(from), func(_, val []byte) bool { return f(decode[Entity](val)) })
}

// EdgesBehind walks the relations behind an id, by their ids.
func (v *View) EdgesBehind(db DB, id string, f func(Edge) bool) {
	v.scanBehind(tEdge, db, []byte(id), func(_, val []byte) bool { return f(decode[Edge](val)) })
}

// ClaimsBehind walks the claims in the same way.
func (v *View) ClaimsBehind(db DB, id string, f func(StoredClaim) bool) {
	v.scanBehind(tClaim, db, []byte(id), func(_, val []byte) bool { return f(decode[StoredClaim](val)) })
}

// Sessions walks the sessions of a namespace and a client, the newest first.
func (v *View) Sessions(db DB, namespace, client string, f func(Session) bool) {
	v.sessions(db, joinKey(namespace, client, ""), len(joinKey(namespace, client, "")), f)
}

// SessionsOf walks all sessions of a namespace, client by client.
func (v *View) SessionsOf(db DB, namespace string, f func(Session) bool) {
	v.sessions(db, joinKey(namespace, ""), 0, f)
}

func (v *View) sessions(db DB, prefix []byte, idAt int, f func(Session) bool) {
	v.scanBack(tSessionPair, db, prefix, func(k, _ []byte) bool {
		at := idAt
		if at == 0 { // behind the namespace stands the client's length
			at = len(prefix) + 4 + int(beUint32(k[len(prefix):]))
		}
		s, ok := v.Session(db, string(k[at+8:]))
		return !ok || f(s)
	})
}

// ActiveSessions walks the sessions that have not ended, the oldest first.
func (v *View) ActiveSessions(db DB, f func(Session) bool) {
	v.scan(tSessionStart, db, nil, func(k, _ []byte) bool {
		s, ok := v.Session(db, string(k[8:]))
		return !ok || f(s)
	})
}

func beUint32(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
