package node_test

import (
	"context"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/wire/field"
)

// remember stores drafts, all or none. key is the idempotency key of all, and may be empty.
func remember(ctx context.Context, s *engine.Service, c api.Caller, key string, drafts ...api.Draft) (api.RememberedBatch, error) {
	a, err := api.RememberBatch.Do(ctx, s, c, &api.RememberBatchRequest{Memories: drafts, Whole: key})
	if err != nil {
		return api.RememberedBatch{}, err
	}
	return *a, nil
}

// recall sends a recall as the dialects of the host do.
func recall(ctx context.Context, s *engine.Service, c api.Caller, q index.Query, f commit.Freshness) (api.Found, error) {
	fresh := api.Fresh{MinIndex: field.Token(f.Index)}
	if f.Linearizable {
		fresh.Consistency = "linearizable"
	}
	a, err := api.Search.Do(ctx, s, c,
		&api.SearchRequest{Text: q.Text, Vector: q.Vector, K: q.K, Expand: q.Expand, Now: q.Now, Quiet: q.Quiet, Fresh: fresh})
	if err != nil {
		return api.Found{}, err
	}
	return *a, nil
}
