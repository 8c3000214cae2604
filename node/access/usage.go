package access

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
)

// usage records when this node saw each token last. It goes through the log every few minutes, all tokens in one entry,
// and only those whose time in the state is older than that: a busy token costs an entry's line, not an entry.
type usage struct {
	mu   sync.Mutex
	seen map[string]oplog.Time // by hash; valid tokens only, so it is as large as they are many
}

// A Log writes a node's own operations into the cluster's log.
type Log interface {
	// Note proposes an operation of the control plane, here or through the leader, and returns when this node has
	// applied it.
	Note(ctx context.Context, op oplog.Op) error
}

// Used notes that a token was used just now. Callers without a token have none.
func (a *Control) Used(hash string) {
	if hash == "" {
		return
	}
	a.usage.mu.Lock()
	a.usage.seen[hash] = oplog.At(a.now())
	a.usage.mu.Unlock()
}

// LastUsed returns the time of a token's last use that this node knows of.
func (a *Control) LastUsed(v *state.View, hash string) oplog.Time {
	a.usage.mu.Lock()
	defer a.usage.mu.Unlock()
	return max(a.usage.seen[hash], v.TokenUsed(hash))
}

// TellUsage is the task that tells the cluster when tokens were used, until ctx ends.
func (a *Control) TellUsage(ctx context.Context, every time.Duration, to Log, log *slog.Logger) error {
	for range pause.Ticks(ctx.Done(), every) {
		if err := a.tell(ctx, to); err != nil && ctx.Err() == nil {
			log.Debug("last uses of tokens not written to the log", "err", err)
		}
	}
	return ctx.Err()
}

// tell proposes the uses that are newer than those in the state. After a failure the next call proposes them again.
func (a *Control) tell(ctx context.Context, to Log) error {
	u := &a.usage
	u.mu.Lock()
	seen := u.seen
	u.seen = map[string]oplog.Time{}
	u.mu.Unlock()
	op := &oplog.Uses{}
	if err := a.state.Look(func(v *state.View) {
		for hash, at := range seen {
			if at > v.TokenUsed(hash) {
				op.Uses = append(op.Uses, oplog.TokenUse{Hash: hash, At: at})
			}
		}
	}); err != nil || len(op.Uses) == 0 {
		return err
	}
	err := to.Note(ctx, op)
	if err != nil {
		u.mu.Lock()
		for hash, at := range seen {
			u.seen[hash] = max(at, u.seen[hash])
		}
		u.mu.Unlock()
	}
	return err
}
