package transport

import (
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/wire"
)

// pipelineDepth limits the unanswered appends to a follower.
const pipelineDepth = 64

// AppendEntriesPipeline opens a connection on which appends are sent without waiting for the previous answer.
func (t *Transport) AppendEntriesPipeline(id hraft.ServerID, addr hraft.ServerAddress) (hraft.AppendPipeline, error) {
	c, err := t.Pool.dialMember(t.ctx, NodeID(id), string(addr), ForAppend)
	if err != nil {
		return nil, err
	}
	p := &pipeline{t: t, id: id, c: c, unanswered: make(chan *inFlight, pipelineDepth),
		done: make(chan hraft.AppendFuture, pipelineDepth), stop: make(chan struct{}), received: make(chan struct{})}
	if !t.begin(p.receive) {
		return nil, errClosed
	}
	return p, nil
}

// pipeline sends from the library's replication goroutine and receives in its own goroutine.
type pipeline struct {
	t          *Transport
	id         hraft.ServerID
	c          *Conn
	unanswered chan *inFlight
	done       chan hraft.AppendFuture
	stop       chan struct{}
	received   chan struct{} // closed when receive has ended
	once       sync.Once
}

// inFlight is one append; it implements hraft.AppendFuture.
type inFlight struct {
	start time.Time
	req   *hraft.AppendEntriesRequest
	resp  *hraft.AppendEntriesResponse
	err   error
	parts int // number of frames that it was sent in, each with its own answer
	ready chan struct{}
}

func (f *inFlight) Error() error                           { <-f.ready; return f.err }
func (f *inFlight) Start() time.Time                       { return f.start }
func (f *inFlight) Request() *hraft.AppendEntriesRequest   { return f.req }
func (f *inFlight) Response() *hraft.AppendEntriesResponse { return f.resp }
func (p *pipeline) Consumer() <-chan hraft.AppendFuture    { return p.done }

func (p *pipeline) AppendEntries(req *hraft.AppendEntriesRequest, resp *hraft.AppendEntriesResponse) (hraft.AppendFuture, error) {
	parts := split(req)
	f := &inFlight{start: time.Now(), req: req, resp: resp, parts: len(parts), ready: make(chan struct{})}
	for _, part := range parts {
		op, m := p.t.packAppend(NodeID(p.id), part)
		if err := p.c.Send(time.Now().Add(RPCTimeout), op, m); err != nil {
			return nil, err
		}
	}
	select {
	case p.unanswered <- f:
		return f, nil
	case <-p.received:
		return nil, hraft.ErrPipelineShutdown
	}
}

// receive delivers answers until the pipeline is closed, or until a rejection: the library reads no answer after a
// rejection. The library closes the pipeline from the goroutine that sends, so a full queue of answers must not block
// that goroutine.
func (p *pipeline) receive() {
	defer close(p.received)
	for {
		select {
		case f := <-p.unanswered:
			var r *wire.RaftAppendReply
			r, f.err = p.answer(f)
			close(f.ready)
			if f.err == nil {
				p.t.host.Answered(NodeID(p.id), r)
			}
			select {
			case p.done <- f:
			case <-p.stop:
				return
			}
			if !f.resp.Success || f.resp.Term > f.req.Term {
				return
			}
		case <-p.stop:
			return
		}
	}
}

// answer reads the follower's answer to each part. It returns the first rejection, or else the last answer. The
// library reads the response and ignores the error, so resp is set only after all answers were read.
func (p *pipeline) answer(f *inFlight) (r *wire.RaftAppendReply, err error) {
	answer := hraft.AppendEntriesResponse{Success: true}
	for range f.parts {
		frame, err := p.c.Next(time.Now().Add(RPCTimeout))
		if err != nil {
			return nil, err
		}
		var said hraft.AppendEntriesResponse
		part, err := unpackAppend(frame, &said)
		if err != nil {
			return nil, err
		}
		if answer.Success {
			answer, r = said, part
		}
	}
	*f.resp = answer
	return r, nil
}

// Close closes the pipeline; the library sends unanswered appends again.
func (p *pipeline) Close() error {
	p.once.Do(func() {
		close(p.stop)
		p.t.Pool.Drop(p.c)
	})
	return nil
}
