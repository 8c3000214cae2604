package transport

import (
	"cmp"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/pause"
)

// Transport implements the library's Transport over the cluster opcodes, and runs the peer port.
type Transport struct {
	Pool            *Pool
	o               Options
	host            Host
	ctx             context.Context
	cancel          context.CancelFunc
	tasks           sync.WaitGroup
	consumer        chan hraft.RPC
	server          *server // nil for a member without a peer port
	damagedFrames   atomic.Uint64
	rejections      rejections
	loggedTLSFaults sync.Map // the kinds of failed handshakes that were logged
}

// rejections holds the last reason for which each peer was rejected, so that retries are logged once.
// Unauthenticated peers may claim any id, so beyond maxRejections their rejections are not logged.
type rejections struct {
	mu  sync.Mutex
	why map[uint32]string
}

const maxRejections = 1000

// changed notes why a peer is rejected, and reports whether the reason is new. known means that the peer has proved
// the secret.
func (r *rejections) changed(peer uint32, why string, known bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why[peer] == why || len(r.why) >= maxRejections && !known {
		return false
	}
	if r.why == nil || len(r.why) >= maxRejections {
		r.why = map[uint32]string{}
	}
	r.why[peer] = why
	return true
}

// forget forgets the rejections of a peer that was admitted.
func (r *rejections) forget(peer uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.why, peer)
}

// New returns the transport of a member; ln is its peer port, or nil.
func New(o Options, h Host, ln net.Listener) *Transport {
	t := &Transport{o: o, host: h, consumer: make(chan hraft.RPC)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.Pool = &Pool{t: t, live: map[*Conn]peerIdentity{}, links: map[poolKey]*link{}}
	if ln != nil {
		t.server = newServer(t, ln)
	}
	return t
}

// Serve answers peers until Close.
func (t *Transport) Serve() {
	if t.server != nil {
		t.tasks.Go(t.server.serve)
	}
}

// Listens reports whether there is a peer port, and returns its address.
func (t *Transport) Listens() (addr string, ok bool) {
	if t.server == nil {
		return "", false
	}
	return t.server.ln.Addr().String(), true
}

// Close closes the peer port and every connection, dialed or accepted. It may be called again, as the library does.
// Wait returns when all tasks have ended.
func (t *Transport) Close() error {
	t.cancel()
	t.CloseServer()
	t.Pool.close()
	return nil
}

// CloseImpostors closes the connections, dialed or accepted, to nodes that were admitted under this id without one of
// these keys.
func (t *Transport) CloseImpostors(id uint32, keys ...string) {
	t.Pool.closeImpostors(id, keys)
	if t.server != nil {
		t.server.closeImpostors(id, keys)
	}
}

// CloseServer closes the peer port and the connections that peers have made.
func (t *Transport) CloseServer() {
	if t.server != nil {
		t.server.close()
	}
}

// begin starts a task, unless the transport is closed. No task begins after Close, so Wait returns only when all
// have ended.
func (t *Transport) begin(task func()) bool {
	t.Pool.mu.Lock()
	defer t.Pool.mu.Unlock()
	if t.Pool.closed {
		return false
	}
	t.tasks.Go(task)
	return true
}

// Wait returns after Close, when all tasks have ended.
func (t *Transport) Wait() { t.tasks.Wait() }

// Offer passes a request to the library's main task.
func (t *Transport) Offer(ctx context.Context, r hraft.RPC) error {
	select {
	case t.consumer <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Consume passes a request to the library's main task and waits for its answer.
func (t *Transport) Consume(ctx context.Context, cmd any, body io.Reader) (any, error) {
	ch := make(chan hraft.RPCResponse, 1)
	if err := t.Offer(ctx, hraft.RPC{Command: cmd, Reader: body, RespChan: ch}); err != nil {
		return nil, err
	}
	r, err := pause.Until(ctx, ch)
	return r.Response, cmp.Or(err, r.Error)
}
