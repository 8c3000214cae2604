package state

import "github.com/cairndb/cairn/oplog"

// A Current holds the facts of a database that every write and every read needs first, as of the newest batch.
type Current struct {
	Database  oplog.Database
	Stats     oplog.Stats    // expired memories count until a Sweep forgets them
	Weights   *oplog.Weights // nil until weights were learned; read only
	Embedding oplog.Embedding
	Redact    oplog.Redact
	TTL       oplog.Time // of memories that are stored without one; 0: they do not expire
	Lift      []string   // members of the metadata that become attributes; read only
}

// maxCurrent bounds the databases that are cached.
const maxCurrent = 4096

// Current returns a database as of the last applied batch, or ErrNoDatabase. A cached database needs no view.
func (s *State) Current(db oplog.DB) (c Current, err error) {
	s.posMu.Lock()
	c, ok := s.current[db]
	s.posMu.Unlock()
	if ok {
		return c, nil
	}
	err = s.Read(func(v *View) error {
		if c.Database, ok = v.Database(db); !ok {
			return oplog.ErrNoDatabase
		}
		set := v.Settings(db)
		c.Stats, c.Embedding, c.Redact, c.TTL, c.Lift = v.counters(db), v.Embedding(db), set.Redact, set.DefaultTTL, set.Lift
		if w, learned := v.Weights(db); learned {
			c.Weights = &w
		}
		s.keepCurrent(v.position(), db, c)
		return nil
	})
	return c, err
}

// keepCurrent caches what a view read, unless a batch was applied meanwhile.
func (s *State) keepCurrent(seen position, db oplog.DB, c Current) {
	s.posMu.Lock()
	defer s.posMu.Unlock()
	if seen != s.pos {
		return
	}
	if len(s.current) >= maxCurrent {
		for one := range s.current {
			delete(s.current, one)
			break
		}
	}
	s.current[db] = c
}

// advance publishes the position after a batch, and updates the cached databases.
func (s *State) advance(to position, t *txn) {
	s.posMu.Lock()
	defer s.posMu.Unlock()
	s.pos = to
	for _, db := range t.stale {
		if delete(s.current, db); db == 0 { // a change that concerns all databases
			clear(s.current)
		}
	}
	for db, counted := range t.counters {
		if c, ok := s.current[db]; ok {
			c.Stats = *counted
			s.current[db] = c
		}
	}
}
