package embedding

import (
	"context"
	"slices"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog/state"
)

// questionTimeout bounds the time that a question waits for the embedder. After it, words alone answer the question.
const questionTimeout = 500 * time.Millisecond

// Question sets the vector of a query from its text, if this node has the embedder of the database.
func (v *Vectors) Question(ctx context.Context, current state.Current, q *index.Query) error {
	g := v.embedderOf(current.Database)
	if g == nil || len(q.Vector) > 0 || q.Lists() || slices.Contains(q.Without, "vector") {
		return nil
	}
	vec, err := g.Question(ctx, questionTimeout, q.Text)
	if err != nil {
		v.cfg.Logger.Debug("question not embedded, answered by words alone", "err", err)
		return ctx.Err()
	}
	q.Vector, q.Hashed, q.Epoch = vec, current.Database.Embedder.Name == "builtin", &current.Embedding.Epoch
	return nil
}
