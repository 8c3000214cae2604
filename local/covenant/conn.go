package covenant

import (
	"bufio"
	"context"
	"errors"
	"net"
	"time"

	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/covenant/verbs"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/wire/field"
)

var framing = serve.Format{Max: protocol.MaxFrame}

// conn serves one connection. It reads a request and answers it before it reads the next. Session is nil until the
// client has authenticated.
type conn struct {
	srv *Server
	net net.Conn
	in  *bufio.Reader
	out *bufio.Writer
	buf []byte
	*verbs.Session
}

// serveConn serves a connection until the client ends it. When the server closes, the connection reads no further
// request, but a running one is still answered within closeTimeout.
func (s *Server) serveConn(nc net.Conn) {
	c := &conn{srv: s, net: nc, in: bufio.NewReader(nc), out: bufio.NewWriter(nc)}
	defer context.AfterFunc(s.Ctx, func() { nc.Close() })()
	c.setReadDeadline(time.Now().Add(s.Config.AuthTimeout))
	defer context.AfterFunc(s.Open, func() { c.setReadDeadline(expiredDeadline) })()
	for c.serveFrame(s.Ctx) {
	}
	_ = c.out.Flush() // fails if the client is gone
}

// expiredDeadline is an expired deadline.
var expiredDeadline = time.Unix(1, 0)

// serveFrame answers one frame. It returns false when the connection must end.
func (c *conn) serveFrame(ctx context.Context) bool {
	body, done, err := c.srv.large.ReadFrame(ctx, framing, c.in, c.buf, c.setBodyDeadline)
	defer done()
	if c.Session != nil {
		c.setReadDeadline(time.Time{})
	}
	var large *serve.TooLarge
	if errors.As(err, &large) {
		c.write(protocol.ErrorFrame("frame too large"))
		return false
	}
	if err != nil {
		return false
	}
	if cap(body) <= 1<<20 {
		c.buf = body // idle connections keep no large buffers
	}
	f := c.srv.parse(body)
	kind := f.Text("kind")
	verb := verbs.Table[kind].Verb
	if f.Err == nil && verb == nil { // the framing is intact, so an authenticated connection may continue
		return c.answer(nil, errors.New("unknown kind: "+field.Clip(kind, 64))) && c.Session != nil
	}
	var run verbs.Action
	if f.Err == nil {
		run = verb.Prepare(f)
	}
	if f.Err != nil { // the frame or a field is malformed
		c.write(protocol.ErrorFrame("malformed frame"))
		return false
	}
	if c.Session == nil {
		return c.serveUnauthenticated(ctx, kind, run)
	}
	return c.answer(run(ctx, c.Session))
}

// Limits of large frames: the number that are read at a time, and the time for one.
const (
	maxLarge    = 8
	bodyTimeout = time.Minute
)

// setBodyDeadline sets the deadline for a large frame that has its slot.
func (c *conn) setBodyDeadline() {
	if c.Session != nil { // before authentication, AuthTimeout applies
		c.setReadDeadline(time.Now().Add(bodyTimeout))
	}
}

// setReadDeadline sets the read deadline, unless the server is closing: then the deadline stays expired.
func (c *conn) setReadDeadline(at time.Time) {
	_ = c.net.SetReadDeadline(at) // if the connection is gone, the next read fails
	if c.srv.Open.Err() != nil {
		_ = c.net.SetReadDeadline(expiredDeadline)
	}
}

// parse decodes the object of a request. Large ones take turns.
func (s *Server) parse(body []byte) *serve.Fields {
	var f *serve.Fields
	if err := s.large.Decode(s.Ctx, len(body), func() error { f = serve.Parse(body); return nil }); err != nil {
		return &serve.Fields{Err: err}
	}
	return f
}

// serveUnauthenticated answers a request of a connection that has not authenticated yet.
func (c *conn) serveUnauthenticated(ctx context.Context, kind string, run verbs.Action) bool {
	guest := &verbs.Session{Home: c.srv.Home, Transport: "ipc"}
	switch kind {
	case "protocol_info":
		return c.answer(run(ctx, guest))
	case "authenticate":
		if !c.answer(run(ctx, guest)) || guest.Peer.Pubkey == "" {
			return false
		}
		c.Session = guest
		c.setReadDeadline(time.Time{})
		return true
	}
	c.answer(c.srv.FailAuthentication("ipc", "first frame must be Authenticate"))
	return false
}

// answer writes a reply, the frames of a stream, or an error. It returns false when the connection is lost.
func (c *conn) answer(reply any, err error) bool {
	if err != nil {
		reply = protocol.ErrorFrame(err.Error())
	}
	st, ok := reply.(*protocol.Stream)
	if !ok {
		return c.write(reply) && c.out.Flush() == nil
	}
	alwaysAuthorized := func() error { return nil } // revoking a token does not end its open connections
	return st.Each(alwaysAuthorized, func(_ string, frame []byte) bool { return c.writeFrame(frame) }) && c.out.Flush() == nil
}

// write sends one frame. A reply over the limit becomes an error, and the connection continues.
func (c *conn) write(reply any) bool {
	body, err := kit.JSON(reply)
	if err == nil && len(body) > protocol.MaxFrame {
		err = protocol.ErrTooLong
	}
	if err != nil {
		body, err = kit.JSON(protocol.ErrorFrame(err.Error()))
	}
	return err == nil && c.writeFrame(body)
}

func (c *conn) writeFrame(body []byte) bool { return framing.Write(c.out, body) == nil }
