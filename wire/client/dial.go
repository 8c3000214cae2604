package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cairndb/cairn/wire"
)

// attempt is the way to a new connection, for all callers that wait for one. mu of the client guards waiting; done
// guards the result.
type attempt struct {
	waiting int // the attempt ends when nobody waits any more
	cancel  context.CancelFunc
	done    chan struct{}
	conn    *conn
	err     error
}

// connection returns the live connection, or waits for a new one for as long as ctx allows.
func (c *Client) connection(ctx context.Context) (*conn, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	if c.conn != nil && c.conn.alive() {
		defer c.mu.Unlock()
		return c.conn, nil
	}
	if c.conn != nil && errors.Is(c.conn.cause(), errSilent) { // its last call may have ended before that was known
		c.putLast(c.conn.addr, errSilent)
		c.conn = nil
	}
	a := c.dials
	if a == nil {
		within, cancel := context.WithCancel(context.WithoutCancel(ctx))
		a = &attempt{cancel: cancel, done: make(chan struct{})}
		c.dials = a
		end, _ := ctx.Deadline()
		go c.connect(within, a, c.order(), end) // ends when nobody waits for it
	}
	a.waiting++
	c.mu.Unlock()
	defer c.leaveAttempt(a)
	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// leaveAttempt counts out a caller that waited. The last one ends an attempt that is still under way; the next attempt
// begins with another address.
func (c *Client) leaveAttempt(a *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.waiting--; a.waiting == 0 && c.dials == a {
		c.dials = nil
		c.next++
		a.cancel()
	}
}

// connect tries the addresses in order. The first caller's time until end is shared out among them; end is zero for
// none.
func (c *Client) connect(ctx context.Context, a *attempt, order []string, end time.Time) {
	defer a.cancel()
	var errs []error
	for i, addr := range order {
		cn, err := c.dial(ctx, addr, len(order)-i, end)
		if err == nil {
			a.conn, errs = cn, nil
			break
		}
		c.mu.Lock()
		c.putLast(addr, err)
		c.mu.Unlock()
		errs = append(errs, fmt.Errorf("%s: %w", addr, err))
		var e *Error
		if errors.As(err, &e) && e.Code != wire.CodeNoQuorum || ctx.Err() != nil {
			break // a rejection is the same everywhere, but for that of a node that has just started
		}
	}
	a.err = errors.Join(errs...)
	c.mu.Lock()
	wanted := c.dials == a && !c.closed
	if c.dials == a {
		c.dials = nil
	}
	if wanted && a.conn != nil {
		c.conn = a.conn
	}
	if c.closed {
		a.err = ErrClosed
	}
	c.mu.Unlock()
	if a.conn != nil && !wanted {
		a.conn.end(ErrClosed)
		a.conn = nil
	}
	close(a.done)
}

// leastShare is the least time that a dial gets when several addresses share the time that is left.
const leastShare = time.Second

// dial connects to an address, the first of so many that are to be tried, within its share of the time until end.
func (c *Client) dial(ctx context.Context, addr string, of int, end time.Time) (*conn, error) {
	limit := c.cfg.DialTimeout
	if !end.IsZero() {
		limit = min(limit, max(time.Until(end)/time.Duration(of), leastShare))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	plain := &net.Dialer{KeepAlive: 15 * time.Second}
	dial := plain.DialContext
	if c.cfg.TLS != nil { // the certificate must be for the host of the address, unless the configuration names another
		dial = (&tls.Dialer{NetDialer: plain, Config: c.cfg.TLS}).DialContext
	}
	nc, err := dial(ctx, "tcp", addr)
	if errors.As(err, new(tls.RecordHeaderError)) {
		return nil, ErrPlain
	}
	if err != nil {
		return nil, err
	}
	cn := newConn(nc, addr, len(c.cfg.Addrs) > 1, c.cfg.waits.pong)
	if !c.holds(cn) {
		cn.end(ErrClosed)
		return nil, ErrClosed
	}
	var ok wire.AuthOK
	if err := cn.ask(ctx, wire.OpAuth, &wire.Auth{Token: c.cfg.Token}, wire.OpAuthOK, &ok); err != nil {
		cn.end(err)
		return nil, err
	}
	if c.cfg.Database != "" && c.cfg.Database != ok.Database {
		if err := cn.ask(ctx, wire.OpSelectDB, &wire.Name{Name: c.cfg.Database}, wire.OpDBOK, &wire.DBOK{}); err != nil {
			cn.end(err)
			return nil, err
		}
	}
	return cn, nil
}

// holds has Close end a connection; false when the client is closed already.
func (c *Client) holds(cn *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.open[cn] = struct{}{}
	go func() { // ends with the connection
		<-cn.done
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, cn)
	}()
	return true
}
