package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/large"
)

// A model's answer holds 4 MiB of memories at most, which are sent as text and as an object, and encoded in each.
const (
	modelAnswer = 4 << 20
	modelCopies = 12
)

// serveModels lets models in, and reads their messages.
func (g *Gateway) serveModels(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	q := &request{g: g, w: w, r: r}
	defer func() { q.c.Hold.Release() }() // when the answer is sent
	done, err := g.identify(q, api.Message.Op)
	defer done()
	if err == nil {
		err = g.cfg.Access.Ready(q.c) // each message is counted by itself
	}
	message, release := []byte(nil), func() {}
	if err == nil {
		message, release, err = q.bodyOf(maxSmall)
	}
	defer release()
	if err != nil {
		leaveUnread(w, r)
		if errors.Is(err, &oplog.Error{Kind: oplog.Denied}) {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		g.fail(w, r, q.ended(err))
		return
	}
	if err := q.work(); err != nil {
		g.fail(w, r, err)
		return
	}
	defer q.idle()
	defer func() { g.cfg.Metrics.Handled("mcp", time.Since(start)) }()
	q.c.Hold.Narrow(modelAnswer, modelCopies)
	q.c.Forward, q.c.Surface = true, "mcp" // a model has no idea of a cluster
	var decoded func()
	if len(message) >= large.From {
		done, err := g.cfg.Turns.Take(q.r.Context())
		if err != nil {
			g.fail(w, r, q.ended(err)) // the client left, or may not stay
			return
		}
		decoded = sync.OnceFunc(done)
		defer decoded()
	}
	g.cfg.Models.Serve(q.w, q.r, q.c, message, decoded)
	if a, ok := w.(*answerWriter); ok && q.r.Context().Err() != nil {
		if a.status != 0 {
			panic(http.ErrAbortHandler) // what was sent is not the whole answer
		}
		g.fail(w, r, q.ended(context.Canceled))
	}
}
