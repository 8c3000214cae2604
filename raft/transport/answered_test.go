package transport

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// TestAnswersBeforeABreak: a connection breaks while answers arrive. Each exchange gets its answer or an error, and
// no answer is sent to a channel that is closed because of the break.
func TestAnswersBeforeABreak(t *testing.T) {
	t.Parallel()
	const rounds, askers, asks = 400, 16, 8
	p := startPair(t, func(_ context.Context, entry string) string { return entry })
	for range rounds {
		var asking sync.WaitGroup
		var answered atomic.Int64
		for range askers {
			asking.Go(func() {
				for range asks {
					if _, err := p.ask(t.Context(), "entry"); err == nil && answered.Add(1) == askers {
						p.mu.Lock()
						p.conns[len(p.conns)-1].Close()
						p.mu.Unlock()
					}
				}
			})
		}
		asking.Wait()
	}
}
