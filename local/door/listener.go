package door

import (
	"net"
	"sync"
	"sync/atomic"
)

// maxUntrusted bounds the open connections of clients that are not known to run as the node's user. A connection over
// the limit is closed without an answer. If the process may open few files, the limit is lower (see accept.Share).
const maxUntrusted = 256

// listener looks up the owner of each connection, and closes untrusted connections over the limit.
type listener struct {
	net.Listener
	limit     int64 // of untrusted connections
	untrusted atomic.Int64
}

// conn is a connection together with the owner of its remote end.
type conn struct {
	net.Conn
	owner   owner
	release func() // stops counting the connection as untrusted; called by Close
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		o := ownerOf(c.RemoteAddr(), c.LocalAddr())
		if o.trusted() {
			return &conn{c, o, func() {}}, nil
		}
		if l.untrusted.Add(1) <= l.limit {
			return &conn{c, o, sync.OnceFunc(func() { l.untrusted.Add(-1) })}, nil
		}
		l.untrusted.Add(-1)
		c.Close()
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.release()
	return c.Conn.Close()
}
