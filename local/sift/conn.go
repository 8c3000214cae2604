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

// How long a reply may take to leave, and how much a client may still send meanwhile.
const (
	writeTimeout  = 30 * time.Second
	lingerTimeout = time.Second
	lingerBytes   = 64 << 20
)

// serve reads one request and answers it. Once the request is whole, nothing the client does stops the work.
func (l *listener) serve(c *net.UnixConn) {
	c.SetReadDeadline(time.Now().Add(l.s.cfg.IdleTimeout))
	whole := context.AfterFunc(l.ctx, func() { c.SetReadDeadline(time.Now()) }) // a listener that closes waits for no request
	req, done, err := l.s.large.ReadFrame(l.ctx, format, c, nil, func() {})
	whole()
	defer done()
	switch {
	case err == nil:
	case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded):
		return // nothing was asked, or not in time
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
	send(c, a)
	l.s.Log.Debug("request answered", "kind", a.kind, "bytes", len(req), "ok", a.err == nil, "took", time.Since(start))
	linger(c)
	if a.then != nil {
		a.then()
	}
}

// full answers a client for whom there is no room.
func full(c net.Conn) {
	_ = reply(c, nil, errors.New("too many connections"))
	linger(c.(*net.UnixConn))
}

// send sends the frames of an answer. Behind one that did not leave whole nothing may come.
func send(c net.Conn, a *answer) {
	for _, part := range a.parts {
		if reply(c, part, nil) != nil {
			return
		}
	}
	_ = reply(c, a.data, a.err) // a client that has gone is not an error: its request has been done
}

// reply sends one frame.
func reply(c net.Conn, data any, err error) error {
	c.SetWriteDeadline(time.Now().Add(writeTimeout))
	err = format.Write(c, body(data, err))
	if _, large := errors.AsType[*serve.TooLarge](err); large {
		err = format.Write(c, body(nil, err))
	}
	return err
}

// body is a frame's JSON: data, or the error in its place.
func body(data any, err error) []byte {
	o := kit.Object{"ok", true, "data", data}
	if err != nil {
		o = kit.Object{"ok", false, "error", err.Error()}
	}
	b, err := kit.JSON(o)
	if err != nil { // of data: a string always encodes
		return body(nil, errors.New("internal error"))
	}
	return b
}

// linger closes the write side and reads on for a moment. A socket closed with bytes unread would be reset, and the
// client could lose the reply.
func linger(c *net.UnixConn) {
	if c.CloseWrite() != nil {
		return
	}
	c.SetReadDeadline(time.Now().Add(lingerTimeout))
	_, _ = io.CopyN(io.Discard, c, lingerBytes)
}

// Call is a client: one request, one reply. Its data comes back as it is, and a rejection as an error.
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

// Refusal is a daemon's ok:false.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }
