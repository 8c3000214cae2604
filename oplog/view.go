package oplog

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cairndb/cairn/oplog/store"
)

// A View is the state at one index: reads through it agree with each other. Close it soon: what it sees stays on the disk while it is
// open. It is for one goroutine at a time.
type View struct {
	*txn
	mark mark
	snap *store.Snapshot
	of   *generation
}

// View opens the state as it is now.
func (s *State) View() (*View, error) {
	g, err := s.hold()
	if err != nil {
		return nil, err
	}
	snap, err := g.Snapshot()
	if err != nil {
		g.release()
		return nil, damage(err)
	}
	v := &View{txn: newTxn(snap), snap: snap, of: g}
	err = caught(func() (err error) {
		v.mark, err = decodeMark(v.get(tMeta, 0, keyMark))
		return err
	})
	if err != nil {
		v.Close()
		return nil, err
	}
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

// Noticed is told when a reader, or a task in the background, met what is not what was written. Who is told reads everything.
func (s *State) Noticed() <-chan struct{} { return s.noticed }

// Close ends the view.
func (v *View) Close() {
	v.snap.Close()
	v.of.release()
}

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

// Vector is a record's; nil when it has none.
func (v *View) Vector(db DB, seq Seq) Vector { return v.get(v.vectors(db), db, seqKey(seq)) }

// Memories walks the records from a sequence number on, in order.
func (v *View) Memories(db DB, from Seq, f func(*Memory) bool) {
	v.scanFrom(tMemory, db, seqKey(from), func(_, val []byte) bool {
		m := decode[Memory](val)
		return f(&m)
	})
}

// Recent walks the records from the newest creation time backwards, those before a time when it is not 0.
func (v *View) Recent(db DB, before Time, f func(*Memory) bool) {
	var below []byte
	if before != 0 {
		below = timeKey(before, 0)
	}
	v.scanBelow(tCreated, db, nil, below, v.memoryOf(db, f))
}

// memoryOf gives f the memory whose number is behind a time in a key.
func (v *View) memoryOf(db DB, f func(*Memory) bool) func(k, _ []byte) bool {
	return func(k, _ []byte) bool {
		m, ok := v.MemoryAt(db, Seq(binary.BigEndian.Uint64(k[8:])))
		return !ok || f(m)
	}
}

// Around are the active memories of a memory's namespace that were created next to it, n on each side and itself,
// oldest first.
func (v *View) Around(db DB, m *Memory, n int) []*Memory {
	const scan = 100 // rows looked at for each that is wanted
	side := func(walk func(f func(k, _ []byte) bool)) (list []*Memory) {
		seen := 0
		if n == 0 {
			return nil
		}
		walk(func(k, _ []byte) bool {
			seen++
			o, ok := v.MemoryAt(db, Seq(binary.BigEndian.Uint64(k[8:])))
			if ok && o.Status == Active && o.Namespace == m.Namespace {
				list = append(list, o)
			}
			return len(list) < n && seen < scan*n
		})
		return list
	}
	at := timeKey(m.Created, m.Seq)
	before := side(func(f func(k, _ []byte) bool) { v.scanBelow(tCreated, db, nil, at, f) })
	slices.Reverse(before)
	return append(append(before, m), side(func(f func(k, _ []byte) bool) { v.scanBehind(tCreated, db, at, f) })...)
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

// Recount computes the Sum from the keys themselves: what it should be. It costs the whole state; it is for doctors and tests.
func (v *View) Recount() (sum Sum) {
	v.walk(span{}, func(key, val []byte) bool {
		if table, db, k, ok := rowOf(key); ok && table != tMeta && table != tLog {
			sum.add(element(table, db, k, val))
		}
		return true
	})
	return sum
}

// RIDs walks the ids of memories in their order behind one, or before it and downwards; blank begins at the end. Ids that
// are made here are in the order of their making.
func (v *View) RIDs(db DB, from string, down bool, f func(rid string, seq Seq) bool) {
	each := func(k, val []byte) bool { return f(string(k), Seq(beUint64(val))) }
	switch {
	case down && from == "":
		v.scanBack(tRID, db, nil, each)
	case down:
		v.scanBelow(tRID, db, nil, []byte(from), each)
	case from == "":
		v.scan(tRID, db, nil, each)
	default:
		v.scanBehind(tRID, db, []byte(from), each)
	}
}
