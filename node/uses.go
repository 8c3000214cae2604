package node

import (
	"context"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// uses notes when tokens were used last. What a node saw goes through the log every few minutes, all tokens in one
// entry, and only those whose time in the state is older than that: a busy token costs an entry's line, not an entry.
type uses struct {
	s     *Service
	every time.Duration

	mu   sync.Mutex
	seen map[string]oplog.Time // by hash; valid tokens only, so it is as large as they are many
}

func newUses(s *Service) *uses {
	return &uses{s: s, every: s.cfg.TokenUses, seen: map[string]oplog.Time{}}
}

// saw notes a use. Callers without a token have none.
func (u *uses) saw(hash string, now time.Time) {
	if hash == "" {
		return
	}
	u.mu.Lock()
	u.seen[hash] = oplog.At(now)
	u.mu.Unlock()
}

// last is when a token was used last, as far as this node knows.
func (u *uses) last(v *oplog.View, hash string) oplog.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return max(u.seen[hash], v.TokenUsed(hash))
}

// run is the task that tells the others.
func (u *uses) run(ctx context.Context) error {
	tick := time.NewTicker(u.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if err := u.tell(ctx); err != nil && ctx.Err() == nil {
				u.s.log.Debug("uses of tokens not told", "err", err)
			}
		}
	}
}

// tell proposes what the state does not know. What fails is told the next time.
func (u *uses) tell(ctx context.Context) error {
	u.mu.Lock()
	seen := u.seen
	u.seen = map[string]oplog.Time{}
	u.mu.Unlock()
	op := &oplog.Uses{}
	if err := u.s.state.Read(func(v *oplog.View) error {
		for hash, at := range seen {
			if at > v.TokenUsed(hash) {
				op.Uses = append(op.Uses, oplog.TokenUse{Hash: hash, At: at})
			}
		}
		return nil
	}); err != nil || len(op.Uses) == 0 {
		return err
	}
	_, err := u.s.write(ctx, api.Caller{By: api.ByNode, Scopes: allScopes, Forward: true}, write{scope: api.Admin, system: true, ops: []oplog.Op{op}})
	if err != nil {
		u.mu.Lock()
		for hash, at := range seen {
			u.seen[hash] = max(at, u.seen[hash])
		}
		u.mu.Unlock()
	}
	return err
}
