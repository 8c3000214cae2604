package embedding

import (
	"context"
	"slices"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog/state"
)

// questionTimeout bounds how long a question waits for the embedder; then it is answered by its words.
const questionTimeout = 500 * time.Millisecond

// Question gives a question the vector of its text, if this node has the embedder of the database.
func (v *Vectors) Question(ctx context.Context, now state.Current, q *index.Query) error {
	g := v.embedderOf(now.Database)
	if g == nil || len(q.Vector) > 0 || q.Lists() || slices.Contains(q.Without, "vector") {
		return nil
	}
	vec, err := g.Question(ctx, questionTimeout, q.Text)
	if err != nil {
		v.cfg.Logger.Debug("question not embedded, answered by words alone", "err", err)
		return ctx.Err()
	}
	q.Vector, q.Hashed, q.Epoch = vec, now.Database.Embedder.Name == "builtin", &now.Embedding.Epoch
	return nil
}
