package access

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
)

// usage records when this node last saw each token. It goes through the log every few minutes, many tokens in one
// entry, and only those with an older time in the state: a busy token costs a line of an entry, not an entry.
type usage struct {
	mu   sync.Mutex
	seen map[string]oplog.Time // by hash; only valid tokens, so their number bounds its size
}

// A Log writes a node's own operations into the cluster's log.
type Log interface {
	// Note proposes an operation of the control plane, here or through the leader, and returns once this node has
	// applied it.
	Note(ctx context.Context, op oplog.Op) error
}

// Used records that a token was used now. An empty hash is ignored.
func (a *Control) Used(hash string) {
	if hash == "" {
		return
	}
	a.usage.mu.Lock()
	a.usage.seen[hash] = oplog.At(a.now())
	a.usage.mu.Unlock()
}

// LastUsed returns the last use of a token that this node knows of.
func (a *Control) LastUsed(v *state.View, hash string) oplog.Time {
	a.usage.mu.Lock()
	defer a.usage.mu.Unlock()
	return max(a.usage.seen[hash], v.TokenUsed(hash))
}

// ReportUsage is the task that reports the last uses of tokens to the cluster, until ctx ends.
func (a *Control) ReportUsage(ctx context.Context, every time.Duration, to Log, log *slog.Logger) error {
	for range pause.Ticks(ctx.Done(), every) {
		if err := a.reportUsage(ctx, to); err != nil && ctx.Err() == nil {
			log.Debug("last uses of tokens not written to the log", "err", err)
		}
	}
	return ctx.Err()
}

// maxUses bounds the tokens of one entry.
const maxUses = 10_000

// reportUsage proposes the uses that are newer than those in the state. After a failure the next call proposes them
// again.
func (a *Control) reportUsage(ctx context.Context, to Log) error {
	u := &a.usage
	u.mu.Lock()
	seen := u.seen
	u.seen = map[string]oplog.Time{}
	u.mu.Unlock()
	var newer []oplog.TokenUse
	err := a.state.Inspect(func(v *state.View) {
		for hash, at := range seen {
			if at > v.TokenUsed(hash) {
				newer = append(newer, oplog.TokenUse{Hash: hash, At: at})
			}
		}
	})
	for uses := range slices.Chunk(newer, maxUses) {
		if err == nil {
			err = to.Note(ctx, &oplog.Uses{Uses: uses})
		}
	}
	if err != nil {
		u.mu.Lock()
		for hash, at := range seen {
			u.seen[hash] = max(at, u.seen[hash])
		}
		u.mu.Unlock()
	}
	return err
}
