package engine

import (
	"context"
	"time"
)

// compareEvery is how often a node compares its state's hash with the others'.
const compareEvery = 15 * time.Second

// Values of the metric that says whether the replicas agree.
var agreements = map[string]int64{"agree": 1, "unknown": 0, "diverged": -1}

// compare is the task that watches whether the replicas hold the same. The node does not heal a difference by itself: its cause is
// a broken disk or a bug, which an operator has to find.
func (s *Service) compare(ctx context.Context) error {
	tick := time.NewTicker(compareEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		st := s.Status(ctx)
		s.seen.agreed.Store(agreements[st.Agreement])
		if st.Agreement == "diverged" {
			s.log.Error("state differs from a peer's", "index", st.SumIndex, "hash", st.Sum)
		}
	}
}
