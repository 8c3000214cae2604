package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// lastWords bounds the time that a client has to read the answer after its request was ended.
const lastWords = time.Second

// bind bounds a request to its caller's rights: when they end, so do its context, what reads its body and what writes
// its answer, also where they wait for the client. Every request with a caller is bound, and what streams uses the
// body and the writer it is given. A body that is not a stream is read as a whole, in its own time.
func (q *request) bind(stream bool) (done func()) {
	ctx, release := q.g.cfg.Access.Bound(q.r.Context(), q.c)
	own := http.NewResponseController(q.w)
	connection := own
	if w, ok := q.w.(*answerWriter); ok { // which only the request's own goroutine may use
		connection = http.NewResponseController(w.ResponseWriter)
	}
	q.r = q.r.WithContext(ctx)
	body := &boundBody{ReadCloser: q.r.Body, ctx: ctx, rc: own}
	if stream && q.r.Body != nil {
		q.r.Body = body
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		body.interrupt(connection)
		_ = connection.SetWriteDeadline(time.Now().Add(lastWords)) // a connection that has none is a test's
	})
	q.w = &boundWriter{ResponseWriter: q.w, ctx: ctx, rc: own}
	return func() {
		if !stop() {
			<-ended
		}
		release()
	}
}

// ended is the error of a request: that its caller's rights have ended, where that is why it failed. An outcome that
// is not known stays so.
func (q *request) ended(err error) error {
	var why *oplog.Error
	if err != nil && q.r.Context().Err() != nil && errors.As(context.Cause(q.r.Context()), &why) &&
		!errors.Is(err, &oplog.Error{Kind: oplog.UnknownOutcome}) {
		return why
	}
	return err
}

// boundBody is a body that ends with its request's context. Its sender has bodyTimeout for each piece.
type boundBody struct {
	io.ReadCloser
	ctx context.Context
	rc  *http.ResponseController

	mu      sync.Mutex
	reading bool
}

// interrupt ends a read that waits. The connection of a request that reads no body keeps its deadline: the server
// watches it for the client's end, and would take a deadline for that, and the next request on it for one whose
// client has gone.
func (b *boundBody) interrupt(connection *http.ResponseController) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading {
		_ = connection.SetReadDeadline(time.Now()) // a connection that has none is a test's
	}
}

// begins reports whether a read may begin. If the context ends later, interrupt sets an earlier deadline.
func (b *boundBody) begins() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // a connection that has none is a test's
	b.reading = b.ctx.Err() == nil
	return b.reading
}

func (b *boundBody) Read(p []byte) (n int, err error) {
	if b.begins() {
		n, err = b.ReadCloser.Read(p)
		b.mu.Lock()
		b.reading = false
		b.mu.Unlock()
	}
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	return n, err
}

// boundWriter is an answer that ends with its request's context. Its reader has writeTimeout for each piece.
type boundWriter struct {
	http.ResponseWriter
	ctx context.Context
	rc  *http.ResponseController
	cut bool // something of the answer was not written
}

func (w *boundWriter) Write(p []byte) (int, error) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // a connection that has none is a test's
	if w.ctx.Err() != nil {
		_ = w.rc.SetWriteDeadline(time.Now().Add(lastWords)) // what was written before is still on its way
		w.cut = true
		return 0, context.Cause(w.ctx)
	}
	n, err := w.ResponseWriter.Write(p)
	w.cut = w.cut || err != nil
	return n, err
}

// WriteHeader implements http.ResponseWriter. A request that has ended gets another header.
func (w *boundWriter) WriteHeader(status int) {
	if w.ctx.Err() == nil {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap is for http.ResponseController.
func (w *boundWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
