package memory

import (
	"context"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// A sender asks over the wire, whose client follows the leader and repeats what may be repeated.
type sender func(context.Context, *client.Client, Given) (answer []byte, err error)

// over makes a sender: what was given becomes a message that begins as told, and the answer says at which index of the
// log it holds.
func over[M any](op *api.Op, message M, send func(context.Context, *client.Client, M) (map[string]any, error)) sender {
	return func(ctx context.Context, cl *client.Client, given Given) ([]byte, error) {
		m := message
		if err := given.Into(op.Takes(), &m); err != nil {
			return nil, err
		}
		answer, err := send(ctx, cl, m)
		if err != nil {
			return nil, err
		}
		answer["log_index"] = cl.Index()
		return kit.Must(answer), nil
	}
}

var (
	remember = over(api.Remember.Op, wire.NewRemember(""),
		func(ctx context.Context, cl *client.Client, m wire.Remember) (map[string]any, error) {
			rid, err := cl.Remember(ctx, m)
			return map[string]any{"rid": rid}, err
		})
	forget = over(api.Forget.Op, wire.Forget{}, func(ctx context.Context, cl *client.Client, m wire.Forget) (map[string]any, error) {
		found, err := cl.Forget(ctx, m.RID)
		return map[string]any{"rid": m.RID, "found": found}, err
	})
	relate = over(api.Relate.Op, wire.Relate{Weight: 1},
		func(ctx context.Context, cl *client.Client, m wire.Relate) (map[string]any, error) {
			id, err := cl.Relate(ctx, m)
			return map[string]any{"edge_id": id}, err
		})
)
