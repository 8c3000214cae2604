package door

import (
	"net"
	"sync"
	"sync/atomic"
)

// maxStrangers limits the connections at a time of clients that are not known to be the node's user. One more
// is closed unanswered. A low limit of descriptors makes it fewer.
const maxStrangers = 256

// listener looks up the owner of each connection, and closes those of strangers over the bound.
type listener struct {
	net.Listener
	most      int64 // strangers
	strangers atomic.Int64
}

// conn is a connection, with the owner of its other end.
type conn struct {
	net.Conn
	owner owner
	leave func() // once, when it is closed
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
		if l.strangers.Add(1) <= l.most {
			return &conn{c, o, sync.OnceFunc(func() { l.strangers.Add(-1) })}, nil
		}
		l.strangers.Add(-1)
		c.Close()
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}
