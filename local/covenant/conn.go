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

// conn reads one request at a time and answers it before the next.
type conn struct {
	srv *Server
	net net.Conn
	in  *bufio.Reader
	out *bufio.Writer
	buf []byte
	*verbs.Session
}

// converse answers a connection until its client ends it. When the server closes, it reads no further request and still
// gives the answer that is on its way; when closeTimeout is over, the connection is closed.
func (s *Server) converse(nc net.Conn) {
	c := &conn{srv: s, net: nc, in: bufio.NewReader(nc), out: bufio.NewWriter(nc)}
	defer context.AfterFunc(s.Ctx, func() { nc.Close() })()
	c.deadline(time.Now().Add(s.Config.AuthTimeout))
	defer context.AfterFunc(s.Open, func() { c.deadline(past) })()
	for c.once(s.Ctx) {
	}
	_ = c.out.Flush() // the client may be gone, and then there is nothing to say
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// once answers one frame; false ends the connection.
func (c *conn) once(ctx context.Context) bool {
	body, done, err := c.srv.large.ReadFrame(ctx, framing, c.in, c.buf, c.sends)
	defer done()
	if c.Session != nil {
		c.deadline(time.Time{})
	}
	var large *serve.TooLarge
	if errors.As(err, &large) {
		c.write(protocol.Fault("frame too large"))
		return false
	}
	if err != nil {
		return false
	}
	if cap(body) <= 1<<20 {
		c.buf = body // large ones are not kept for connections that idle
	}
	f := c.srv.parse(body)
	kind := f.Text("kind")
	verb := verbs.Table[kind].Verb
	if f.Err == nil && verb == nil { // where the next frame begins is known: an authenticated client may go on
		return c.answer(nil, errors.New("unknown kind: "+field.Clip(kind, 64))) && c.Session != nil
	}
	var run verbs.Action
	if f.Err == nil {
		run = verb.Fresh(f)
	}
	if f.Err != nil { // of the frame, or of a field
		c.write(protocol.Fault("malformed frame"))
		return false
	}
	if c.Session == nil {
		return c.enter(ctx, kind, run)
	}
	return c.answer(run(ctx, c.Session))
}

// How many large frames are read at once, and how long a client may take to send one.
const (
	maxLarge = 8
	bodyTime = time.Minute
)

// sends sets the deadline by which the client has to send a large frame whose turn has come.
func (c *conn) sends() {
	if c.Session != nil { // before authentication there is a deadline already
		c.deadline(time.Now().Add(bodyTime))
	}
}

// deadline sets until when the connection is read, but never over the one that Close has set.
func (c *conn) deadline(at time.Time) {
	_ = c.net.SetReadDeadline(at) // a connection that is gone fails at the next read
	if c.srv.Open.Err() != nil {
		_ = c.net.SetReadDeadline(past)
	}
}

// parse reads a request's object. Large ones take turns.
func (s *Server) parse(body []byte) *serve.Fields {
	var f *serve.Fields
	if err := s.large.Decode(s.Ctx, len(body), func() error { f = serve.Parse(body); return nil }); err != nil {
		return &serve.Fields{Err: err}
	}
	return f
}

// enter answers a request of a connection that has no identity yet.
func (c *conn) enter(ctx context.Context, kind string, run verbs.Action) bool {
	guest := &verbs.Session{Home: c.srv.Home, Transport: "ipc"}
	switch kind {
	case "protocol_info":
		return c.answer(run(ctx, guest))
	case "authenticate":
		if !c.answer(run(ctx, guest)) || guest.Peer.Pubkey == "" {
			return false
		}
		c.Session = guest
		c.deadline(time.Time{})
		return true
	}
	c.answer(c.srv.FailAuthentication("ipc", "first frame must be Authenticate"))
	return false
}

// answer writes a reply, the frames of a stream, or an error; false when the connection is lost.
func (c *conn) answer(reply any, err error) bool {
	if err != nil {
		reply = protocol.Fault(err.Error())
	}
	st, ok := reply.(*protocol.Stream)
	if !ok {
		return c.write(reply) && c.out.Flush() == nil
	}
	stays := func() error { return nil } // a token that is revoked ends no connection that it has opened
	return st.Each(stays, func(_ string, frame []byte) bool { return c.put(frame) }) && c.out.Flush() == nil
}

// write sends one frame. A reply over the limit becomes an error, and the connection goes on.
func (c *conn) write(reply any) bool {
	body, err := kit.JSON(reply)
	if err == nil && len(body) > protocol.MaxFrame {
		err = protocol.ErrTooLong
	}
	if err != nil {
		body, err = kit.JSON(protocol.Fault(err.Error()))
	}
	return err == nil && c.put(body)
}

func (c *conn) put(body []byte) bool { return framing.Write(c.out, body) == nil }
