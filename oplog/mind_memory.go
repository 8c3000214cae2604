package oplog

// stands finds a memory that is still what a decision knew.
func (a *applying) stands(g Grounds) (*Memory, bool) {
	m, err := a.liveMemory(g.RID)
	return m, err == nil && m.Status == Active && m.Revision == g.Revision
}

// forget tombstones a memory and keeps its time, so that the past can still be asked about.
func (a *applying) forget(m *Memory, at Time) {
	a.countStatus(m, -1)
	m.Status, m.Updated = Tombstoned, at
	a.dropClaims(m)
	a.countStatus(m, +1)
	a.putMemory(m)
	a.put(tPast, a.db, timeKey(at, m.Seq), nil)
}

// sourceShare is what is left of a merged memory's importance.
const sourceShare = .3

// merge makes one memory of several, unless a source has changed, is gone, was made by a merge itself or is in an
// open conflict.
func (a *applying) merge(m *Merge, at Time) (bool, *Error) {
	if len(m.Sources) < 2 || a.get(tRID, a.db, []byte(m.Into.RID)) != nil {
		return false, nil
	}
	sources := make([]*Memory, len(m.Sources))
	seen := map[string]bool{}
	for i, g := range m.Sources {
		s, ok := a.stands(g)
		if !ok || seen[g.RID] || s.Merged > 0 || s.Namespace != m.Into.Namespace || a.inConflict(g.RID) {
			return false, nil
		}
		seen[g.RID] = true
		sources[i] = s
	}
	// The sources leave first: a database at its quota gains room by a merge.
	for _, s := range sources {
		a.countStatus(s, -1)
		s.Status, s.Into, s.Updated = Consolidated, m.Into.RID, at
		s.Importance *= sourceShare
		a.dropClaims(s) // the product states them
		a.countStatus(s, +1)
		a.putMemory(s)
		a.put(tPast, a.db, timeKey(at, s.Seq), nil)
	}
	a.detached = true
	r, err := m.Into.apply(a)
	a.detached = false
	if err != nil {
		return false, err
	}
	made, _ := a.memoryAt(Seq(r.Num))
	made.Merged = uint32(len(sources))
	a.putMemory(made)
	return true, nil
}

func (a *applying) memoryAt(seq Seq) (*Memory, bool) {
	m, ok := read[Memory](a.txn, tMemory, a.db, seqKey(seq))
	return &m, ok
}

func (a *applying) retier(r Retier, at Time) bool {
	m, err := a.liveMemory(r.RID)
	if err != nil || m.Status != Active || m.Tier != r.From {
		return false
	}
	m.Tier, m.Updated = r.To, at
	a.putMemory(m)
	return true
}

// unlink takes a memory from the entities it no longer names.
func (a *applying) unlink(m *Memory, keep map[string]bool) {
	for _, name := range m.Entities {
		if keep[name] {
			continue
		}
		a.del(tEntityMemory, a.db, nameKey(name, m.Seq))
		if e, ok := read[Entity](a.txn, tEntity, a.db, []byte(name)); ok && e.Mentions > 0 {
			e.Mentions--
			write(a.txn, tEntity, a.db, []byte(name), &e)
		}
		a.dropName(name)
	}
}

// relink gives a corrected memory the entities of its new text.
func (a *applying) relink(m *Memory, found []Mention, extractor uint8, at Time) {
	had, now := map[string]bool{}, map[string]bool{}
	for _, n := range m.Entities {
		had[n] = true
	}
	var names []string
	for _, e := range found {
		e.Name = a.canonical(m.Namespace, e.Name)
		if now[e.Name] {
			continue
		}
		now[e.Name] = true
		names = append(names, e.Name)
		if !had[e.Name] {
			a.mention(e, m.Seq, at)
		}
	}
	a.unlink(m, now)
	m.Entities, m.Extractor = names, extractor
}
