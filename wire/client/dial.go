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

// attempt is an attempt to connect, shared by all callers that need a connection. The client's mu guards waiting.
// conn and err may be read once done is closed.
type attempt struct {
	waiting int // number of waiting callers; at 0 the attempt is canceled
	cancel  context.CancelFunc
	done    chan struct{}
	conn    *conn
	err     error
}

// connection returns the current connection, or waits for a new one until ctx ends.
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
	if c.conn != nil && errors.Is(c.conn.cause(), errSilent) { // its last call may have ended before the silence was detected
		c.demote(c.conn.addr, errSilent)
		c.conn = nil
	}
	a := c.dialing
	if a == nil {
		within, cancel := context.WithCancel(context.WithoutCancel(ctx))
		a = &attempt{cancel: cancel, done: make(chan struct{})}
		c.dialing = a
		end, _ := ctx.Deadline()
		go c.connect(within, a, c.dialOrder(), end) // canceled when no caller waits
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

// leaveAttempt removes a waiting caller. If it was the last, it cancels the attempt, and the next attempt begins with
// another address.
func (c *Client) leaveAttempt(a *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.waiting--; a.waiting == 0 && c.dialing == a {
		c.dialing = nil
		c.next++
		a.cancel()
	}
}

// connect dials the addresses in order until one succeeds. The time until end, the first caller's deadline, is
// divided among them; a zero end means no deadline.
func (c *Client) connect(ctx context.Context, a *attempt, order []string, end time.Time) {
	defer a.cancel()
	var errs []error
	for i, addr := range order {
		cn, err := c.dial(ctx, addr, len(order)-i, end)
		if err == nil {
			if len(errs) > 0 {
				cn.missed, cn.missedErr = order[0], errs[0]
			}
			a.conn, errs = cn, nil
			break
		}
		c.mu.Lock()
		c.demote(addr, err)
		c.mu.Unlock()
		errs = append(errs, fmt.Errorf("%s: %w", addr, err))
		var e *Error
		if errors.As(err, &e) && e.Code != wire.CodeNoQuorum || ctx.Err() != nil {
			break // every node would reject it, unless the node has just started
		}
	}
	a.err = errors.Join(errs...)
	c.mu.Lock()
	wanted := c.dialing == a && !c.closed
	if c.dialing == a {
		c.dialing = nil
	}
	if wanted && a.conn != nil {
		c.conn = a.conn
	}
	if c.closed {
		a.err = ErrClosed
	}
	c.mu.Unlock()
	if a.conn != nil && !wanted {
		a.conn.closeWith(ErrClosed)
		a.conn = nil
	}
	close(a.done)
}

// minDialTime is the minimum time of a dial when several addresses share the remaining time.
const minDialTime = time.Second

// dial connects and authenticates to an address. of is the number of addresses left to dial, which share the time
// until end.
func (c *Client) dial(ctx context.Context, addr string, of int, end time.Time) (*conn, error) {
	limit := c.cfg.DialTimeout
	if !end.IsZero() {
		limit = min(limit, max(time.Until(end)/time.Duration(of), minDialTime))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	plain := &net.Dialer{KeepAlive: 15 * time.Second}
	dial := plain.DialContext
	if c.cfg.TLS != nil { // verifies the certificate for the address's host, unless Config.TLS has a ServerName
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
	if !c.track(cn) {
		cn.closeWith(ErrClosed)
		return nil, ErrClosed
	}
	var ok wire.AuthOK
	if err := cn.ask(ctx, wire.OpAuth, &wire.Auth{Token: c.cfg.Token}, wire.OpAuthOK, &ok); err != nil {
		cn.closeWith(err)
		return nil, err
	}
	if c.cfg.Database != "" && c.cfg.Database != ok.Database {
		if err := cn.ask(ctx, wire.OpSelectDB, &wire.Name{Name: c.cfg.Database}, wire.OpDBOK, &wire.DBOK{}); err != nil {
			cn.closeWith(err)
			return nil, err
		}
	}
	return cn, nil
}

// track registers a connection so that Close closes it; false if the client is closed already.
func (c *Client) track(cn *conn) bool {
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
