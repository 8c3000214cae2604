package oplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/cairndb/cairn/oplog/boltfile"
)

// A View is the state at one index: reads through it agree with each other. Close it soon, for as long as
// it is open the file cannot reuse the pages it sees.
type View struct {
	*txn
	mark mark
}

// View opens the state as it is now.
func (s *State) View() (*View, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return nil, Errorf(Unavailable, "state is closed")
	}
	least := s.mark().index
	v, err := viewOf(s.db, s.c, s.ways)
	if err == nil && v.mark.index < least { // bbolt goes back to the commit before when the newest one's meta page is damaged
		v.Close()
		return nil, fmt.Errorf("%w: it was at %d and is at %d", ErrState, least, v.mark.index)
	}
	return v, err
}

func viewOf(db *bolt.DB, c *codec, ways *boltfile.Ways) (*View, error) {
	tx, err := db.Begin(false)
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	v := &View{txn: newTxn(tx, c, ways)}
	err = caught(func() (err error) {
		v.mark, err = decodeMark(v.meta().Get(keyMark))
		return err
	})
	if err != nil {
		tx.Rollback()
		return nil, err
	}
	v.sum = v.mark.sum
	return v, nil
}

// Read runs f on a view and closes it. What f returns must not share the view's memory.
// Corruption met inside f comes back as an error, and Noticed is told.
func (s *State) Read(f func(*View) error) error {
	err := s.read(f)
	s.notice(err)
	return err
}

func (s *State) notice(err error) {
	if errors.Is(err, ErrState) {
		select {
		case s.noticed <- struct{}{}:
		default:
		}
	}
}

func (s *State) read(f func(*View) error) error {
	v, err := s.View()
	if err != nil {
		return err
	}
	defer v.Close()
	return caught(func() error { return f(v) })
}

// Noticed is told when a reader met what is not what was written. Whoever is told reads everything.
func (s *State) Noticed() <-chan struct{} { return s.noticed }

// Close ends the view.
func (v *View) Close() { _ = v.tx.Rollback() } // a read transaction's rollback cannot fail

// Index is the state's place in the log.
func (v *View) Index() Index { return v.mark.index }

// Sum is the hash of the whole replicated state.
func (v *View) Sum() Sum { return v.mark.sum }

// Time is the newest entry's.
func (v *View) Time() HLC { return v.mark.last }

// Cluster is the cluster's id; empty before the first entry.
func (v *View) Cluster() string { return string(v.get(tControl, 0, []byte("cluster"))) }

// Memory finds a record by its public id, whatever its status.
func (v *View) Memory(db DB, rid string) (*Memory, bool) { return memoryByRID(v.txn, db, rid) }

// Seq finds a record's dense number by its public id.
func (v *View) Seq(db DB, rid string) (Seq, bool) {
	if key := v.get(tRID, db, []byte(rid)); rid != "" && key != nil {
		return Seq(binary.BigEndian.Uint64(key)), true
	}
	return 0, false
}

// MemoryAt finds a record by its dense number.
func (v *View) MemoryAt(db DB, seq Seq) (*Memory, bool) {
	m, ok := read[Memory](v.txn, tMemory, db, seqKey(seq))
	return &m, ok
}

// Vector appends a record's vector to dst; nil dst and no vector give nil.
func (v *View) Vector(db DB, seq Seq) Vector {
	return bytes.Clone(v.get(v.vectors(db), db, seqKey(seq)))
}

// Memories walks the records from a sequence number on, in order.
func (v *View) Memories(db DB, from Seq, f func(*Memory) bool) {
	v.scanFrom(tMemory, db, seqKey(from), func(_, val []byte) bool {
		m := decode[Memory](val)
		return f(&m)
	})
}

// Recent walks the records from the newest creation time backwards, those before a time when it is not 0.
func (v *View) Recent(db DB, before Time, f func(*Memory) bool) {
	b := v.bucket(tCreated, db)
	if b == nil {
		return
	}
	c := b.Cursor()
	var k []byte
	if before == 0 {
		k, _ = c.Last()
	} else if k, _ = c.Seek(timeKey(before, 0)); k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	for ; k != nil; k, _ = c.Prev() {
		if m, ok := v.MemoryAt(db, Seq(binary.BigEndian.Uint64(k[8:]))); ok && !f(m) {
			return
		}
	}
}

// Around are the active memories of a memory's namespace that were created next to it, n on each side and itself,
// oldest first.
func (v *View) Around(db DB, m *Memory, n int) []*Memory {
	const scan = 100 // rows looked at for each that is wanted
	b := v.bucket(tCreated, db)
	if b == nil {
		return nil
	}
	side := func(step func(*cursor) []byte) (list []*Memory) {
		c := b.Cursor()
		c.Seek(timeKey(m.Created, m.Seq))
		for k, seen := step(c), 0; k != nil && len(list) < n && seen < scan*n; k, seen = step(c), seen+1 {
			o, ok := v.MemoryAt(db, Seq(binary.BigEndian.Uint64(k[8:])))
			if ok && o.Status == Active && o.Namespace == m.Namespace {
				list = append(list, o)
			}
		}
		return list
	}
	before := side(func(c *cursor) []byte { k, _ := c.Prev(); return k })
	slices.Reverse(before)
	return append(append(before, m), side(func(c *cursor) []byte { k, _ := c.Next(); return k })...)
}

// KeyResults are what the entry under an idempotency key came to; nil when the key is not known.
func (v *View) KeyResults(db DB, key string) []Result {
	k, _ := read[keyRecord](v.txn, tKey, db, []byte(key))
	return k.Results
}

// SessionMemories walks a session's records in the order they were stored.
func (v *View) SessionMemories(db DB, id string, f func(*Memory) bool) {
	v.scan(tSessionMemory, db, joinKey(id, ""), func(k, _ []byte) bool {
		m, ok := v.MemoryAt(db, Seq(beUint64(k[len(k)-8:])))
		return !ok || f(m)
	})
}

// Revisions are what a record was before each correction, oldest first.
func (v *View) Revisions(db DB, seq Seq) (r []Revision) {
	v.scan(tRevision, db, seqKey(seq), func(_, val []byte) bool {
		r = append(r, decode[Revision](val))
		return true
	})
	return r
}

// Edge finds a relation by its id.
func (v *View) Edge(db DB, id string) (Edge, bool) { return read[Edge](v.txn, tEdge, db, []byte(id)) }

// Claim returns a claim.
func (v *View) Claim(db DB, id string) (StoredClaim, bool) {
	return read[StoredClaim](v.txn, tClaim, db, []byte(id))
}

// Edges are the relations an entity is in, outgoing first, at most limit.
func (v *View) Edges(db DB, entity string, limit int) (edges []Edge) {
	prefix := joinKey(entity, "")
	collect := func(table tableID, skipLoops bool) {
		v.scan(table, db, prefix, func(k, _ []byte) bool {
			if e, ok := v.Edge(db, string(k[len(prefix):])); ok && !(skipLoops && e.Src == e.Dst) {
				edges = append(edges, e)
			}
			return len(edges) < limit
		})
	}
	collect(tBySource, false)
	if len(edges) < limit {
		collect(tByTarget, true)
	}
	return edges
}

// AllEdges walks the relations by id.
func (v *View) AllEdges(db DB, f func(Edge) bool) {
	v.scan(tEdge, db, nil, func(_, val []byte) bool { return f(decode[Edge](val)) })
}

// Claims are the claims an entity is named in, oldest first; namespace "" means all.
func (v *View) Claims(db DB, entity, namespace string, limit int) (claims []StoredClaim) {
	prefix := joinKey(entity, "")
	v.scan(tClaimBy, db, prefix, func(k, _ []byte) bool {
		c, ok := read[StoredClaim](v.txn, tClaim, db, k[len(prefix):])
		if ok && (namespace == "" || c.Namespace == namespace) {
			claims = append(claims, c)
		}
		return len(claims) < limit
	})
	return claims
}

// Canonical resolves a name through the aliases of a namespace.
func (v *View) Canonical(db DB, namespace, name string) string {
	return (&applying{txn: v.txn, db: db}).canonical(namespace, name)
}

// Entity finds an entity by its name.
func (v *View) Entity(db DB, name string) (Entity, bool) {
	return read[Entity](v.txn, tEntity, db, []byte(name))
}

// Entities walks the entities by name.
func (v *View) Entities(db DB, f func(Entity) bool) {
	v.scan(tEntity, db, nil, func(_, val []byte) bool { return f(decode[Entity](val)) })
}

// Session finds a session by its id.
func (v *View) Session(db DB, id string) (Session, bool) {
	return read[Session](v.txn, tSession, db, []byte(id))
}

// Stats are a database's counters.
func (v *View) Stats(db DB) Stats {
	s, _ := read[Stats](v.txn, tStats, db, nil2key)
	return s
}

// Database finds a database by its number.
func (v *View) Database(id DB) (Database, bool) {
	return read[Database](v.txn, tDatabase, 0, be64(uint64(id)))
}

// DatabaseNamed finds a database by its name.
func (v *View) DatabaseNamed(name string) (Database, bool) {
	id := v.get(tDatabaseName, 0, []byte(name))
	if id == nil {
		return Database{}, false
	}
	return v.Database(DB(beUint64(id)))
}

// Databases are all databases by number.
func (v *View) Databases() (dbs []Database) {
	v.scan(tDatabase, 0, nil, func(_, val []byte) bool {
		dbs = append(dbs, decode[Database](val))
		return true
	})
	return dbs
}

// Token finds a token by its hash.
func (v *View) Token(hash string) (Token, bool) { return read[Token](v.txn, tToken, 0, []byte(hash)) }

// Tokens are all tokens by hash, revoked ones too.
func (v *View) Tokens() (tokens []Token) {
	v.scan(tToken, 0, nil, func(_, val []byte) bool {
		tokens = append(tokens, decode[Token](val))
		return true
	})
	return tokens
}

// Nodes are the addresses the nodes have advertised, by node number.
func (v *View) Nodes() (nodes []NodeInfo) {
	v.scan(tNode, 0, nil, func(_, val []byte) bool {
		nodes = append(nodes, decode[NodeInfo](val))
		return true
	})
	return nodes
}

// KnowsForeign says whether a pushed operation was taken before.
func (v *View) KnowsForeign(db DB, opID string) bool {
	return v.get(tForeign, db, []byte(opID)) != nil
}

func (v *View) scanFrom(table tableID, db DB, start []byte, f func(k, val []byte) bool) {
	b := v.bucket(table, db)
	if b == nil {
		return
	}
	c := b.Cursor()
	for k, val := c.Seek(start); k != nil; k, val = c.Next() {
		if !f(k, val) {
			return
		}
	}
}

// Recount computes the Sum from the keys themselves: what it should be. It costs the whole state; it is for doctors and tests.
func (v *View) Recount() (sum Sum) {
	tables := func(db DB) {
		for table := range tableNames {
			v.scan(table, db, nil, func(k, val []byte) bool {
				sum.add(element(table, db, k, val))
				return true
			})
		}
	}
	tables(0)
	if all := v.tx.Bucket(bktDatabases); all != nil {
		_ = all.ForEachBucket(func(k []byte) error {
			tables(DB(binary.BigEndian.Uint32(k)))
			return nil
		})
	}
	return sum
}

// RIDs walks the ids of memories in their order behind one, or before it and downwards; blank begins at the end. Ids that
// are made here are in the order of their making.
func (v *View) RIDs(db DB, from string, down bool, f func(rid string, seq Seq) bool) {
	b := v.bucket(tRID, db)
	if b == nil {
		return
	}
	c := b.Cursor()
	step := c.Next
	var k, val []byte
	switch {
	case down:
		step = c.Prev
		if k, _ = c.Seek([]byte(from)); from == "" || k == nil {
			k, val = c.Last()
		} else {
			k, val = c.Prev()
		}
	case from == "":
		k, val = c.First()
	default:
		if k, val = c.Seek([]byte(from)); string(k) == from {
			k, val = c.Next()
		}
	}
	for ; k != nil && f(string(k), Seq(beUint64(val))); k, val = step() {
	}
}
