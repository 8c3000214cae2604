package state

import "github.com/cairndb/cairn/oplog"

// current is a database and its counters as of the newest batch: what every write asks before the log.
type current struct {
	database oplog.Database
	stats    oplog.Stats
}

// maxCurrent bounds how many databases are kept.
const maxCurrent = 4096

// Database is a database and its counters as of what was applied last; ok is false when there is none. One that was asked about before
// costs no view.
func (s *State) Database(db oplog.DB) (d oplog.Database, counted oplog.Stats, ok bool, err error) {
	s.at.Lock()
	c, ok := s.current[db]
	s.at.Unlock()
	if !ok {
		err = s.Read(func(v *View) error {
			if c.database, ok = v.Database(db); ok {
				c.stats = v.Stats(db)
				s.keepCurrent(v.mark, db, c)
			}
			return nil
		})
	}
	return c.database, c.stats, ok, err
}

// keepCurrent keeps what a view saw, unless the state is another by now.
func (s *State) keepCurrent(seen mark, db oplog.DB, c current) {
	s.at.Lock()
	defer s.at.Unlock()
	if seen != s.m {
		return
	}
	if len(s.current) >= maxCurrent {
		clear(s.current)
	}
	s.current[db] = c
}

// advance moves the state to what a batch made of it.
func (s *State) advance(to mark, t *txn, stats map[oplog.DB]*oplog.Stats) {
	s.at.Lock()
	defer s.at.Unlock()
	s.m = to
	if t.rehoused {
		clear(s.current)
	}
	for db, counted := range stats {
		if c, ok := s.current[db]; ok {
			c.stats = *counted
			s.current[db] = c
		}
	}
}
