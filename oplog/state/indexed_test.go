package state

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/fold"
)

// A rowSet holds rows of some tables: table and key, and the value.
type rowSet map[tableID]map[string]string

func (r rowSet) add(table tableID, key, value []byte) {
	if r[table] == nil {
		r[table] = map[string]string{}
	}
	r[table][string(key)] = string(value)
}

// checkIndexed compares the rows that lead to others (by id, time, name, status and so on) with those that the
// memories, relations, claims and other primary rows of a database call for, and its counters with a recount.
func checkIndexed(v *View, db oplog.DB) error {
	want, stats, sums := rowSet{}, oplog.Stats{}, map[string]oplog.Counts{}
	v.StoredMemories(db, 0, func(m *oplog.Memory) bool {
		wantMemory(want, m)
		sum := sums[m.Namespace]
		sum.Count(m.Status, +1)
		sums[m.Namespace] = sum
		stats.Count(m.Status, +1)
		if m.Expiry() != 0 {
			stats.Expiring++
		}
		if m.By != "" && m.Status != oplog.Tombstoned {
			stats.Superseded++
		}
		return true
	})
	err := wantNames(v, db, want, &stats)
	wantSessions(v, db, want)
	wantMind(v, db, want, &stats)
	wantOthers(v, db, want)
	had := v.counters(db)
	if stats.NextSeq, stats.Operations = had.NextSeq, had.Operations; had != stats {
		err = cmp.Or(err, fmt.Errorf("counters of database %d %+v, counted %+v", db, had, stats))
	}
	for k, val := range v.scan(tNamespaceSum, db, nil) {
		name, _ := cutKey(k)
		if got := decode[oplog.Counts](val); got != sums[string(name)] {
			err = cmp.Or(err, fmt.Errorf("namespace %s %+v, counted %+v", name, got, sums[string(name)]))
		}
		delete(sums, string(name))
	}
	if len(sums) > 0 {
		err = cmp.Or(err, fmt.Errorf("namespaces without counters: %v", sums))
	}
	return cmp.Or(err, compareRows(v, db, want), checkStatements(v, db), checkMemories(v, db), checkVectors(v, db))
}

// wantNames adds the rows of relations, claims and entities. An entity is named by a memory, a relation or a claim.
func wantNames(v *View, db oplog.DB, want rowSet, stats *oplog.Stats) (err error) {
	named, claimed := map[string]bool{}, map[string]bool{} // a memory that states a claim may name other entities
	v.StoredMemories(db, 0, func(m *oplog.Memory) bool {
		for _, name := range m.Entities {
			named[name] = true
		}
		return true
	})
	v.EdgesBehind(db, "", func(e oplog.Edge) bool {
		want.add(tTriple, joinKey(e.Src, e.Type, e.Dst), []byte(e.ID))
		want.add(tBySource, joinKey(e.Src, e.ID), nil)
		want.add(tByTarget, joinKey(e.Dst, e.ID), nil)
		named[e.Src], named[e.Dst] = true, true
		stats.Edges++
		return true
	})
	v.ClaimsBehind(db, "", func(c oplog.StoredClaim) bool {
		want.add(tClaimBy, joinKey(c.Src, c.ID), nil)
		want.add(tClaimBy, joinKey(c.Dst, c.ID), nil)
		claimed[c.Src], claimed[c.Dst] = true, true
		stats.Claims++
		return true
	})
	v.Entities(db, "", func(e oplog.Entity) bool {
		if want.add(tFolded, joinKey(fold.Lower(e.Name), e.Name), nil); !named[e.Name] && !claimed[e.Name] {
			err = fmt.Errorf("nothing names entity %q", e.Name)
		}
		delete(named, e.Name)
		stats.Entities++
		return true
	})
	if len(named) > 0 {
		err = cmp.Or(err, fmt.Errorf("named and no entities: %v", named))
	}
	return err
}

func wantMemory(want rowSet, m *oplog.Memory) {
	key := seqKey(m.Seq)
	want.add(tRID, []byte(m.RID), key)
	want.add(tCreated, timeKey(m.Created, m.Seq), nil)
	want.add(tNamespace, nameKey(m.Namespace, m.Seq), nil)
	if m.Due != 0 {
		want.add(tDue, timeKey(m.Due, m.Seq), nil)
	}
	if at := m.Expiry(); at != 0 {
		want.add(tExpiry, timeKey(at, m.Seq), append([]byte{byte(m.Status)}, m.Namespace...))
	}
	if m.Status == oplog.Quarantined {
		want.add(tQuarantined, key, nil)
	}
	for _, name := range m.Entities {
		want.add(tEntityMemory, nameKey(name, m.Seq), nil)
	}
}

func wantSessions(v *View, db oplog.DB, want rowSet) {
	each(v.scan(tSession, db, nil), func(s oplog.Session) bool {
		start := startKey(s.Started, s.ID)
		if s.Status != oplog.SessionImplicit {
			want.add(tSessionPair, append(joinKey(s.Namespace, s.Client, ""), start...), nil)
		}
		if s.Status == oplog.SessionActive {
			want.add(tActivePair, joinKey(s.Namespace, s.Client), []byte(s.ID))
			want.add(tActiveSession, append(joinKey(s.Namespace, ""), start...), []byte(s.ID))
			want.add(tSessionStart, start, nil)
		}
		return true
	})
}

func wantMind(v *View, db oplog.DB, want rowSet, stats *oplog.Stats) {
	each(v.scan(tConflict, db, nil), func(c oplog.ConflictRow) bool {
		want.add(tConflictOrder, conflictOrder(&c), []byte(c.ID))
		want.add(tConflictSide, joinKey(c.A, c.ID), nil)
		want.add(tConflictSide, joinKey(c.B, c.ID), nil)
		if c.Status == oplog.ConflictOpen {
			stats.OpenConflicts++
		}
		return true
	})
	each(v.scan(tTrigger, db, nil), func(t oplog.TriggerRow) bool {
		want.add(tTriggerOrder, triggerOrder(&t), []byte(t.ID))
		if t.Status == oplog.TriggerPending {
			stats.PendingTriggers++
		}
		return true
	})
}

func wantOthers(v *View, db oplog.DB, want rowSet) {
	for key, val := range v.scan(tKey, db, nil) {
		k := decode[keyRecord](val)
		want.add(tKeyExpiry, expiryKey(k.Expires, string(key)), be64(uint64(k.Kept)))
	}
	each(v.scan(tEvent, db, nil), func(e oplog.StoredEvent) bool {
		want.add(tEventHash, eventKey(e.Workspace, e.Session, e.Hash), be64(uint64(e.ID)))
		return true
	})
	each(v.scan(tReceipt, db, nil), func(r oplog.Receipt) bool {
		want.add(tReceiptBy, append(joinKey(r.Payer, ""), append(timeKey(r.At, 0), r.ID...)...), nil)
		want.add(tReceiptTime, append(timeKey(r.At, 0), r.ID...), nil)
		if r.Memory != "" {
			want.add(tReceiptOf, joinKey(r.Memory, r.ID), nil)
		}
		return true
	})
	each(v.scan(tGrant, db, nil), func(g oplog.StoredGrant) bool {
		number, signature := be64(g.Number), []byte(g.Signature)
		want.add(tGrantOrder, number, signature)
		want.add(tGrantAction, append(joinKey(g.Subject, g.Action, ""), number...), signature)
		want.add(tGrantSubject, append(joinKey(g.Subject, ""), number...), signature)
		if g.Revoked != 0 {
			want.add(tGrantRevoked, append(timeKey(g.Revoked, 0), g.Signature...), nil)
		}
		return true
	})
}

// compareRows compares whole tables with what they should hold.
func compareRows(v *View, db oplog.DB, want rowSet) error {
	for _, table := range []tableID{tRID, tCreated, tNamespace, tDue, tExpiry, tQuarantined, tEntityMemory, tFolded, tTriple,
		tBySource, tByTarget, tClaimBy, tSessionPair, tActivePair, tActiveSession, tSessionStart, tConflictOrder, tConflictSide,
		tTriggerOrder, tKeyExpiry, tEventHash, tReceiptBy, tReceiptTime, tReceiptOf, tGrantOrder, tGrantAction, tGrantSubject,
		tGrantRevoked} {
		got := map[string]string{}
		for k, val := range v.scan(table, db, nil) {
			got[string(k)] = string(val)
		}
		if !maps.Equal(got, want[table]) {
			return fmt.Errorf("table %s of database %d:\n got %q\nwant %q", tableNames[table], db, got, want[table])
		}
	}
	return nil
}

// checkStatements checks that each row of a statement leads to a claim of that statement, and that each claim has one.
func checkStatements(v *View, db oplog.DB) error {
	stated := map[string]bool{}
	for k, id := range v.scan(tStatement, db, nil) {
		c, ok := v.Claim(db, string(id))
		if !ok || !bytes.Equal(k, statementKey(&c)) && !bytes.Equal(k, sourceStatementKey(&c)) {
			return fmt.Errorf("statement %q leads to claim %q, which is %+v", k, id, c)
		}
		stated[c.ID] = true
	}
	var err error
	v.ClaimsBehind(db, "", func(c oplog.StoredClaim) bool {
		if !stated[c.ID] {
			err = fmt.Errorf("no statement leads to claim %+v", c)
		}
		return err == nil
	})
	return err
}

// checkMemories checks the rows that memories have in tables in which they may have several or none.
func checkMemories(v *View, db oplog.DB) error {
	paths := map[string]string{}
	for k, row := range v.scan(tPath, db, nil) {
		paths[string(k)] = string(row[:8])
	}
	var err error
	fail := func(m *oplog.Memory, text string) { err = cmp.Or(err, fmt.Errorf("%s: %+v", text, *m)) }
	v.StoredMemories(db, 0, func(m *oplog.Memory) bool {
		if m.Path != "" && m.Status == oplog.Active {
			if key := string(joinKey(m.Namespace, m.Path)); paths[key] != string(seqKey(m.Seq)) {
				fail(m, "its key is not its own")
			} else {
				delete(paths, key)
			}
		}
		if len(m.Claims) > 0 && (m.Status == oplog.Tombstoned || m.Unsearchable) {
			fail(m, "it has claims")
		}
		if !m.Indexed() && (len(m.Entities) > 0 || v.Vector(db, m.Seq) != nil) {
			fail(m, "it is not indexed")
		}
		for _, r := range v.Revisions(db, m.Seq) {
			if r.Number >= m.Revision {
				fail(m, fmt.Sprintf("it has revision %+v", r))
			}
		}
		if m.By != "" && m.Status == oplog.Active && !m.ExpiredAt(v.Time().Time()) {
			by, _ := memoryByRID(v.txn, db, m.By)
			if c, _ := v.Conflict(db, string(v.get(tConflictPair, db, pairKey(m.RID, m.By)))); c.Strategy == oplog.Superseded &&
				c.Winner == m.By && by != nil && by.Status == oplog.Tombstoned { // an import may lack what superseded it
				fail(m, "it is superseded by none")
			}
		}
		if m.Status == oplog.Tombstoned && v.exists(tReread, db, seqKey(m.Seq)) {
			fail(m, "it is to be read again")
		}
		return err == nil
	})
	if err == nil && len(paths) > 0 {
		err = fmt.Errorf("keys of no memory: %q", slices.Collect(maps.Keys(paths)))
	}
	return err
}

// checkVectors checks that vectors and revisions belong to memories that were not erased.
func checkVectors(v *View, db oplog.DB) error {
	for _, table := range []tableID{tRevision, tVector, tVectorOdd} {
		for k := range v.scan(table, db, nil) {
			if m, ok := v.StoredMemoryAt(db, oplog.Seq(beUint64(k))); !ok || m.Status == oplog.Tombstoned && erased(m) {
				return fmt.Errorf("table %s has a row of memory %d, which is %+v", tableNames[table], beUint64(k), m)
			}
		}
	}
	return nil
}

// checkControl compares the rows of the control plane with its databases and tokens.
func checkControl(v *View) error {
	names, made := map[string]string{}, map[string]uint64{}
	for _, d := range v.Databases() {
		names[oplog.FoldDatabaseName(d.Name)] = string(be64(uint64(d.ID)))
		if d.By != 0 {
			made[string(madeByKey(d.By))]++
		}
	}
	for name, id := range v.scan(tDatabaseName, 0, nil) {
		if names[string(name)] != string(id) {
			return fmt.Errorf("name %q leads to %x", name, id)
		}
		delete(names, string(name))
	}
	if len(names) > 0 {
		return fmt.Errorf("databases without a name: %q", names)
	}
	for k, n := range v.scan(tControl, 0, []byte("made-by ")) {
		if made[string(k)] != beUint64(n) {
			return fmt.Errorf("%x counts %d databases, there are %d", k, beUint64(n), made[string(k)])
		}
	}
	given := map[string]bool{}
	for hash, row := range v.scan(tConsent, 0, nil) {
		given[string(consentKey(decode[Consented](row).By, string(hash)))] = true
	}
	for k := range v.scan(tConsentBy, 0, nil) {
		if !given[string(k)] {
			return fmt.Errorf("consent %q is not there", k)
		}
		delete(given, string(k))
	}
	if len(given) > 0 {
		return fmt.Errorf("consents of no token: %v", given)
	}
	for k := range v.scan(tLimit, 0, nil) {
		if hash, is := bytes.CutPrefix(k, []byte("t/")); is {
			if _, ok := v.Token(string(hash)); !ok {
				return fmt.Errorf("limit of no token %s", hash)
			}
		} else if id := beUint64(append(make([]byte, 4), k[2:]...)); !v.exists(tDatabase, 0, be64(id)) {
			return fmt.Errorf("limit of no database %d", id)
		}
	}
	return nil
}
