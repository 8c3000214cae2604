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

// ErrIncomplete reports that there are more rows than the answer contains. The rows of the answer are returned with
// it.
var ErrIncomplete = errors.New("there are more")

// incomplete returns err, or else ErrIncomplete if the answer gives a reason why it is incomplete.
func incomplete(err error, why string) error {
	if err == nil && why != "" {
		err = fmt.Errorf("%w: %s", ErrIncomplete, why)
	}
	return err
}

// ErrUnknownOutcome reports that a write may or may not have happened.
var ErrUnknownOutcome = errors.New("the write may or may not have happened")

// ErrNoLeader reports that other nodes answer and name the leader, and that its address for clients cannot be reached.
var ErrNoLeader = errors.New("the leader cannot be reached from here")

// ErrClosed reports that the client was closed.
var ErrClosed = errors.New("client closed")

// ErrSecured reports that the server requires TLS and Config.TLS is nil.
var ErrSecured = errors.New("the server speaks TLS")

// ErrPlain reports that the server does not use TLS and Config.TLS is set.
var ErrPlain = errors.New("the server does not speak TLS")

// Error is an error that the server answered with.
type Error struct {
	Code    wire.Code
	Message string
	Details []byte // JSON object; empty: none
}

// errorDetails is the content of Error.Details.
type errorDetails struct {
	Unknown bool  `json:"unknown_outcome"` // the server does not know the write's outcome
	Millis  int64 `json:"retry_after_ms"`
	TLS     bool  `json:"tls"`

	LogEnd *field.Token `json:"log_end"` // the cluster's log ends here, before the min_index of a read
}

func (e *Error) details() (d errorDetails) {
	if len(e.Details) == 0 || json.Unmarshal(e.Details, &d) != nil {
		return errorDetails{} // details are optional
	}
	return d
}

// RetryAfter returns how long to wait after a rate limit error; 0 for other errors.
func (e *Error) RetryAfter() time.Duration {
	return time.Duration(e.details().Millis) * time.Millisecond
}

// Is reports true for ErrSecured if the server rejected plain text because it requires TLS.
func (e *Error) Is(target error) bool { return target == ErrSecured && e.details().TLS }

func (e *Error) Error() string { return e.Message }

// Config configures a client. Addrs and Token are required. Zero values of other fields mean the defaults in
// comments.
type Config struct {
	Addrs    []string // wire addresses, tried in order
	Token    string
	Database string      // default: the token's own
	TLS      *tls.Config // default: plain TCP
	// reads reflect this client's writes and wait until the node has applied them; otherwise reads reflect the node's
	// state
	OwnWrites   bool
	DialTimeout time.Duration  // 5s
	Patience    time.Duration  // 3s: how long to retry a temporarily rejected request, such as during a change of leaders or with a full queue
	waits       serverTimeouts // only tests change it
}

// serverTimeouts holds the timeouts for a server that does not answer. Zero values mean the defaults in comments.
type serverTimeouts struct {
	pong time.Duration // 4.5s: from a ping until the connection is closed as dead
	late time.Duration // 1s: how long the address of a late server is demoted
}

// Client is a client of a cluster. It is safe for concurrent use. mu guards the fields below it and is never held
// during network I/O. Lock order: mu before conn.mu.
type Client struct {
	cfg Config

	mu      sync.Mutex
	conn    *conn
	dialing *attempt // the connection attempt in progress; nil: none
	target  string   // address to dial next, of a leader; blank: the first that answers
	next    int      // index in Addrs to dial first
	closed  bool
	index   field.Token        // of the latest write
	open    map[*conn]struct{} // all open connections: the current one, retired ones, and those of subscriptions

	demotedAddr  string    // address to dial last, because its server did not answer
	demotedUntil time.Time // end of the demotion, which applies even if a node names it as the leader
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

// Close closes all connections. Calls and subscriptions in progress return ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.conn = true, nil
	for cn := range c.open {
		cn.closeWith(ErrClosed)
	}
	if c.dialing != nil {
		c.dialing.cancel()
	}
	return nil
}

// Addr returns the address of the connected node; blank for none.
func (c *Client) Addr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return ""
	}
	return c.conn.addr
}

// dialOrder returns the addresses in the order to dial them. mu is held.
func (c *Client) dialOrder() []string {
	order := append(slices.Clone(c.cfg.Addrs[c.next%len(c.cfg.Addrs):]), c.cfg.Addrs[:c.next%len(c.cfg.Addrs)]...)
	if i := slices.Index(order, c.demotedAddr); i >= 0 && time.Now().Before(c.demotedUntil) {
		order = append(slices.Delete(order, i, i+1), c.demotedAddr)
	}
	if c.target != "" {
		order = append([]string{c.target}, order...)
		c.target = ""
	}
	return order
}

// abandon switches away from a connection after an error of a request on it or of a second connection to its server.
// It keeps the connection if the error is a rejection, because then the server answers.
func (c *Client) abandon(cn *conn, err error) {
	var refused *Error
	if errors.As(err, &refused) {
		return // the server answers
	}
	c.mu.Lock()
	c.demote(cn.addr, err)
	c.mu.Unlock()
	c.switchFrom(cn, "")
}

// switchFrom retires a connection. The next call dials the address to, or if that is blank, the next one in the list.
func (c *Client) switchFrom(cn *conn, to string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != cn {
		return // another call has switched already
	}
	if to != "" && to == cn.addr {
		return
	}
	if to == c.demotedAddr && time.Now().Before(c.demotedUntil) {
		to = "" // followers name a dead leader until they elect another
	}
	c.conn = nil
	c.target = to
	if to == "" {
		c.next++
	}
	cn.retire()
}

// demotedFor is the time for which an address that did not answer is dialed last, about that of an election.
const demotedFor = 10 * time.Second

// demote makes an address the last to dial for some time, if err reports that its server was silent or late. mu is
// held.
func (c *Client) demote(addr string, err error) {
	switch {
	case errors.Is(err, errSilent):
		c.demotedAddr, c.demotedUntil = addr, time.Now().Add(demotedFor)
	case errors.Is(err, errLate):
		c.demotedAddr, c.demotedUntil = addr, time.Now().Add(c.cfg.waits.late)
	}
}

const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// retryRule says whether to retry a request whose connection breaks.
type retryRule uint8

const (
	retryRead       retryRule = iota // a read: retry
	retryIdempotent                  // an idempotent write, by its key or because it names all that it changes: retry
	neverRetry                       // a write that could happen twice: do not retry
)

// do sends a request until a node answers, ctx ends, or another attempt could apply a write twice.
func (c *Client) do(ctx context.Context, kind retryRule, f func(context.Context, *conn) error) error {
	if kind == neverRetry {
		ctx = waitingForLate(ctx)
	}
	sent := false // a write with an unknown outcome was sent
	unsure := func(err error) error {
		if sent {
			return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
		}
		return err
	}
	begun := time.Now()
	var unreached error // why the leader cannot be reached
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		cn, err := c.connection(ctx)
		if err == nil {
			if err = f(ctx, cn); err == nil {
				return nil
			}
		}
		var refused *notLeaderError
		var e *Error
		switch {
		case cn != nil && errors.As(err, &refused):
			c.switchFrom(cn, refused.leader)
			if refused.lost && time.Since(begun) >= c.cfg.Patience { // all addresses were tried meanwhile
				return unsure(refused.err)
			}
			err, unreached = refused.err, nil
			if cn.missed != "" && cn.missed == refused.leader {
				unreached = fmt.Errorf("%w: %w", ErrNoLeader, cn.missedErr)
			} else if refused.leader != "" {
				pause = firstPause
			}
		case c.forgetPastEnd(err):
			return err
		case errors.As(err, &e) && e.Code == wire.CodeNoQuorum && time.Since(begun) < c.cfg.Patience: // nothing was written
		case errors.As(err, &e) && !e.details().Unknown:
			return unsure(err) // the server's final answer
		case cn != nil && wire.IsPayload(err): // an unreadable answer: a retry would return the same
			sent = sent || kind != retryRead
			return unsure(err)
		case cn == nil && !errors.Is(err, ErrClosed): // no connection: nothing was sent
		default:
			sent = sent || kind != retryRead && cn != nil
			if kind == neverRetry || errors.Is(err, ErrClosed) {
				return unsure(err)
			}
			if ctx.Err() == nil {
				c.abandon(cn, err)
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return unsure(fmt.Errorf("%w: %w", ctx.Err(), cmp.Or(unreached, err)))
		}
	}
}

// NewKey returns a new idempotency key: the time in milliseconds and 80 random bits. Because keys grow with time, a
// server that stores them in order finds quickly that a new key is unused.
func NewKey() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(time.Now().UnixMilli())<<16)
	rand.Read(b[6:]) // never fails
	return hex.EncodeToString(b[:])
}
