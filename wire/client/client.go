package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// ErrIncomplete says that there are more rows than an answer has; those that it has are returned with the error.
var ErrIncomplete = errors.New("there are more")

// incomplete is the error of an answer that says why it is not complete; err comes first.
func incomplete(err error, why string) error {
	if err == nil && why != "" {
		err = fmt.Errorf("%w: %s", ErrIncomplete, why)
	}
	return err
}

// ErrUnknownOutcome says that a write may or may not have happened.
var ErrUnknownOutcome = errors.New("the write may or may not have happened")

// ErrClosed says that the client was closed.
var ErrClosed = errors.New("client closed")

// ErrSecured says that the server speaks TLS and Config.TLS is nil.
var ErrSecured = errors.New("the server speaks TLS")

// ErrPlain says that the server does not speak TLS and Config.TLS is set.
var ErrPlain = errors.New("the server does not speak TLS")

// Error is the rejection that the server answered with.
type Error struct {
	Code    wire.Code
	Message string
	Details []byte // JSON; empty for none
}

// errorDetails holds what the server adds to an error for programs.
type errorDetails struct {
	Unknown bool  `json:"unknown_outcome"` // the server does not know the write's outcome
	Millis  int64 `json:"retry_after_ms"`
	TLS     bool  `json:"tls"`
}

func (e *Error) details() (d errorDetails) {
	if len(e.Details) == 0 || json.Unmarshal(e.Details, &d) != nil {
		return errorDetails{} // they are optional
	}
	return d
}

// RetryAfter returns the time that a server which limits the rate of requests asks to wait; 0 for any other answer.
func (e *Error) RetryAfter() time.Duration {
	return time.Duration(e.details().Millis) * time.Millisecond
}

// Is makes a plain text answer of a port that speaks TLS an ErrSecured.
func (e *Error) Is(target error) bool { return target == ErrSecured && e.details().TLS }

func (e *Error) Error() string { return e.Message }

// Config says where the cluster is. Addrs and Token are required; a zero elsewhere means the default next to it.
type Config struct {
	Addrs    []string // wire addresses, tried in order
	Token    string
	Database string      // the token's own
	TLS      *tls.Config // plain TCP
	// reads reflect this client's writes, and wait until the node has them; else they reflect what the node has applied
	OwnWrites   bool
	DialTimeout time.Duration // 5s
	Patience    time.Duration // 3s: how long to retry a request that the cluster refuses for now, since leadership moves or a queue is full
	waits       waits         // tests alone change it
}

// waits says how long a client bears with a server that does not answer. A zero means the default next to it.
type waits struct {
	pong time.Duration // 4.5s: from a ping until the server counts as gone
	late time.Duration // 1s: how long the address of a late server is tried last
}

// Client talks to a cluster. Any number of goroutines may use it. mu guards the fields below it and is never held
// over network I/O. conn.mu is locked inside mu, never the other way round.
type Client struct {
	cfg Config

	mu     sync.Mutex
	conn   *conn
	dials  *attempt // to connect; nil: nobody waits for a connection
	target string   // where to dial next: a leader's address, or empty for the first that answers
	next   int      // the address to begin with
	closed bool
	index  field.Token        // of the latest write
	open   map[*conn]struct{} // all that have not ended: that of calls, those it has left, and those of subscriptions

	silentAddr  string    // an address that did not answer
	silentUntil time.Time // until then it is tried last, even when a node names it as the leader
}

// Dial connects to the first node that answers.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	if len(cfg.Addrs) == 0 {
		return nil, errors.New("no addresses")
	}
	cfg.DialTimeout = cmp.Or(cfg.DialTimeout, 5*time.Second)
	cfg.Patience = cmp.Or(cfg.Patience, 3*time.Second)
	cfg.waits.pong = cmp.Or(cfg.waits.pong, 4500*time.Millisecond)
	cfg.waits.late = cmp.Or(cfg.waits.late, time.Second)
	c := &Client{cfg: cfg, open: map[*conn]struct{}{}}
	if _, err := c.connection(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Close ends all connections; calls and subscriptions under way end with ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.conn = true, nil
	for cn := range c.open {
		cn.end(ErrClosed)
	}
	if c.dials != nil {
		c.dials.cancel()
	}
	return nil
}

// Addr is the node the client is connected to; empty for none.
func (c *Client) Addr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return ""
	}
	return c.conn.addr
}

// order is the addresses as they are to be tried.
func (c *Client) order() []string {
	order := append(slices.Clone(c.cfg.Addrs[c.next%len(c.cfg.Addrs):]), c.cfg.Addrs[:c.next%len(c.cfg.Addrs)]...)
	if i := slices.Index(order, c.silentAddr); i >= 0 && time.Now().Before(c.silentUntil) {
		order = append(slices.Delete(order, i, i+1), c.silentAddr)
	}
	if c.target != "" {
		order = append([]string{c.target}, order...)
		c.target = ""
	}
	return order
}

// leave gives up a connection after a request on it, or a second connection to its server, failed; unless the server
// rejected: then it is there.
func (c *Client) leave(cn *conn, err error) {
	var refused *Error
	if errors.As(err, &refused) {
		return // it answers
	}
	c.mu.Lock()
	c.putLast(cn.addr, err)
	c.mu.Unlock()
	c.moveOn(cn, "")
}

// moveOn gives up a connection; the next call dials the address to, or the next one in the list.
func (c *Client) moveOn(cn *conn, to string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != cn {
		return // another call has moved on already
	}
	if to != "" && to == cn.addr {
		return
	}
	if to == c.silentAddr && time.Now().Before(c.silentUntil) {
		to = "" // followers name a silent leader until they have another
	}
	c.conn = nil
	c.target = to
	if to == "" {
		c.next++
	}
	cn.retire()
}

// silentFor is the time for which an address that did not answer is tried last: about as long as the election of
// another leader.
const silentFor = 10 * time.Second

// putLast has an address tried last for a while, when err says that its server did not answer or not in time. It is
// called with mu held.
func (c *Client) putLast(addr string, err error) {
	switch {
	case errors.Is(err, errSilent):
		c.silentAddr, c.silentUntil = addr, time.Now().Add(silentFor)
	case errors.Is(err, errLate):
		c.silentAddr, c.silentUntil = addr, time.Now().Add(c.cfg.waits.late)
	}
}

const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// retryRule says what may be done with a request whose connection breaks.
type retryRule uint8

const (
	read       retryRule = iota // changes nothing: asked again
	recognised                  // a write that the server knows again, by its key or because it names all it changes: asked anew
	once                        // a write that might happen twice: never sent again
)

// do sends a request until a node answers it, its context ends, or another attempt could make the change twice.
func (c *Client) do(ctx context.Context, kind retryRule, f func(context.Context, *conn) error) error {
	if kind == once {
		ctx = patiently(ctx)
	}
	sent := false // a write was sent whose outcome is not known
	unsure := func(err error) error {
		if sent {
			return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
		}
		return err
	}
	begun := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		cn, err := c.connection(ctx)
		if err == nil {
			if err = f(ctx, cn); err == nil {
				return nil
			}
		}
		var refused *readonly
		var e *Error
		switch {
		case cn != nil && errors.As(err, &refused):
			c.moveOn(cn, refused.leader)
			if refused.lost && time.Since(begun) >= c.cfg.Patience { // each address was tried meanwhile
				return unsure(refused.err)
			}
			if refused.leader != "" {
				pause = firstPause
			}
			err = refused.err
		case errors.As(err, &e) && e.Code == wire.CodeNoQuorum && time.Since(begun) < c.cfg.Patience: // nothing was written
		case errors.As(err, &e) && !e.details().Unknown:
			return unsure(err) // the server answered
		case cn != nil && wire.IsPayload(err): // it answered in a way that is the same the next time
			sent = sent || kind != read
			return unsure(err)
		case cn == nil && !errors.Is(err, ErrClosed): // no node could be reached: nothing was sent
		default:
			sent = sent || kind != read && cn != nil
			if kind == once || errors.Is(err, ErrClosed) {
				return unsure(err)
			}
			if ctx.Err() == nil {
				c.leave(cn, err)
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return unsure(fmt.Errorf("%w: %w", ctx.Err(), err))
		}
	}
}

// NewKey makes an idempotency key: the time in milliseconds, and 80 random bits. A server that keeps keys in order
// finds that a new one is none of the older ones without looking through them.
func NewKey() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(time.Now().UnixMilli())<<16)
	rand.Read(b[6:]) // never fails
	return hex.EncodeToString(b[:])
}
