package engine

import (
	"time"

	"github.com/cairndb/cairn/node/api"
)

// slowly notes an operation that began at start, when it took as long as the configuration calls slow: the operation, the database and the
// surface, never the text. Streams are left out: their clients decide how long they last.
func (s *Service) slowly(surface, operation string, c api.Caller, start time.Time) {
	took := time.Since(start)
	if s.cfg.Slow < 0 || took < s.cfg.Slow {
		return
	}
	s.measured.slow.Add(1)
	s.log.Warn("slow operation", "surface", surface, "operation", operation, "database", c.Database, "took", took.Round(time.Millisecond), "index", s.commit.Applied())
}
