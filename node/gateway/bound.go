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

// finalWriteTimeout is the time that a client has to read the answer after its rights have ended.
const finalWriteTimeout = time.Second

// bind ends the request when its caller's rights end: the context is cancelled, and reads of the body and writes of
// the answer return, even if they wait for the client. Every request with a caller is bound. A streaming handler must
// use the body and the writer that bind sets. A body that is not streamed is read as a whole and has its own
// deadline.
func (q *request) bind(stream bool) (done func()) {
	ctx, release := q.g.cfg.Access.Bound(q.r.Context(), q.c)
	own := http.NewResponseController(q.w)
	connection := own
	if w, ok := q.w.(*answerWriter); ok { // only the request's own goroutine may use an answerWriter
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
		_ = connection.SetWriteDeadline(time.Now().Add(finalWriteTimeout)) // only tests' connections lack deadlines
	})
	q.w = &boundWriter{ResponseWriter: q.w, ctx: ctx, rc: own}
	return func() {
		if !stop() {
			<-ended
		}
		release()
	}
}

// causeOf returns the reason why the caller's rights ended, if that is why the request failed; else err. It does not
// hide an unknown outcome.
func (q *request) causeOf(err error) error {
	var why *oplog.Error
	if err != nil && q.r.Context().Err() != nil && errors.As(context.Cause(q.r.Context()), &why) &&
		!errors.Is(err, &oplog.Error{Kind: oplog.UnknownOutcome}) {
		return why
	}
	return err
}

// A boundBody is a body whose reads end with the request's context. The client has bodyTimeout for each piece.
type boundBody struct {
	io.ReadCloser
	ctx context.Context
	rc  *http.ResponseController

	mu      sync.Mutex
	reading bool
}

// interrupt ends a waiting read. If no read waits, it sets no deadline: the server watches the connection in the
// background, and would take an expired deadline for the client's end and fail the next request of the connection.
func (b *boundBody) interrupt(connection *http.ResponseController) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading {
		_ = connection.SetReadDeadline(time.Now()) // only tests' connections lack deadlines
	}
}

// startRead sets the deadline of a read, and reports whether it may begin. If the context ends later, interrupt
// shortens the deadline.
func (b *boundBody) startRead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // only tests' connections lack deadlines
	b.reading = b.ctx.Err() == nil
	return b.reading
}

func (b *boundBody) Read(p []byte) (n int, err error) {
	if b.startRead() {
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

// A boundWriter is an answer whose writes fail once the request's context ends. The client has writeTimeout for each
// piece.
type boundWriter struct {
	http.ResponseWriter
	ctx        context.Context
	rc         *http.ResponseController
	incomplete bool // part of the answer was not written
}

func (w *boundWriter) Write(p []byte) (int, error) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // only tests' connections lack deadlines
	if w.ctx.Err() != nil {
		_ = w.rc.SetWriteDeadline(time.Now().Add(finalWriteTimeout)) // earlier pieces may still be in transit
		w.incomplete = true
		return 0, context.Cause(w.ctx)
	}
	n, err := w.ResponseWriter.Write(p)
	w.incomplete = w.incomplete || err != nil
	return n, err
}

// WriteHeader implements http.ResponseWriter. After the context's end it does nothing, because the error's header
// follows.
func (w *boundWriter) WriteHeader(status int) {
	if w.ctx.Err() == nil {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap lets http.ResponseController find the wrapped writer.
func (w *boundWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
