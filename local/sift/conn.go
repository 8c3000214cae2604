package sift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
)

// Limits of sending a reply, and of reading further bytes of the client after it.
const (
	writeTimeout  = 30 * time.Second
	lingerTimeout = time.Second
	lingerBytes   = 64 << 20
)

// serve reads one request and answers it. A client that disconnects does not cancel a request that was read
// completely.
func (l *listener) serve(c *net.UnixConn) {
	c.SetReadDeadline(time.Now().Add(l.s.cfg.IdleTimeout))
	stop := context.AfterFunc(l.ctx, func() { c.SetReadDeadline(time.Now()) }) // a closing listener stops waiting for requests
	req, done, err := l.s.large.ReadFrame(l.ctx, format, c, nil, func() {})
	stop()
	defer done()
	switch {
	case err == nil:
	case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded):
		return // the client sent no request, or not in time
	case errors.Is(err, io.ErrUnexpectedEOF):
		_ = reply(c, nil, errors.New("incomplete frame"))
		return
	default:
		if _, large := errors.AsType[*serve.TooLarge](err); large {
			_ = reply(c, nil, err)
			linger(c)
		}
		return
	}
	start := time.Now()
	a := l.answer(req)
	sendAnswer(c, a)
	l.s.Log.Debug("request answered", "kind", a.kind, "bytes", len(req), "ok", a.err == nil, "took", time.Since(start))
	linger(c)
	if a.afterReply != nil {
		a.afterReply()
	}
}

// rejectFull answers a client over the connection limit.
func rejectFull(c net.Conn) {
	_ = reply(c, nil, errors.New("too many connections"))
	linger(c.(*net.UnixConn))
}

// sendAnswer sends the frames of an answer. It stops after a frame that could not be sent whole.
func sendAnswer(c net.Conn, a *answer) {
	for _, part := range a.parts {
		if reply(c, part, nil) != nil {
			return
		}
	}
	_ = reply(c, a.data, a.err) // the request is done, even if the client has gone
}

// reply sends one frame.
func reply(c net.Conn, data any, err error) error {
	c.SetWriteDeadline(time.Now().Add(writeTimeout))
	err = format.Write(c, encodeReply(data, err))
	if _, large := errors.AsType[*serve.TooLarge](err); large {
		err = format.Write(c, encodeReply(nil, err))
	}
	return err
}

// encodeReply returns the JSON of a frame: data, or the error.
func encodeReply(data any, err error) []byte {
	o := kit.Object{"ok", true, "data", data}
	if err != nil {
		o = kit.Object{"ok", false, "error", err.Error()}
	}
	b, err := kit.JSON(o)
	if err != nil { // data cannot be encoded; a string always can
		return encodeReply(nil, errors.New("internal error"))
	}
	return b
}

// linger closes the write side and reads on for a moment. Closing a socket with unread bytes would reset it, and the
// client could lose the reply.
func linger(c *net.UnixConn) {
	if c.CloseWrite() != nil {
		return
	}
	c.SetReadDeadline(time.Now().Add(lingerTimeout))
	_, _ = io.CopyN(io.Discard, c, lingerBytes)
}

// Call sends one request and returns the data of its reply. A rejection is a *Refusal.
func Call(ctx context.Context, socket string, request any) (json.RawMessage, error) {
	raw, err := kit.JSON(request)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Now()) })
	defer stop()
	if err := format.Write(c, raw); err != nil {
		return nil, err
	}
	b, err := format.Read(c, nil)
	if err != nil {
		return nil, fmt.Errorf("reply: %w", errors.Join(err, ctx.Err()))
	}
	var r struct {
		OK    bool            `json:"ok"`
		Data  json.RawMessage `json:"data"`
		Error string          `json:"error"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("reply: %w", err)
	}
	if !r.OK {
		return nil, &Refusal{r.Error}
	}
	return r.Data, nil
}

// Refusal is the error of a reply with ok:false.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }
