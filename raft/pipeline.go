package raft

import (
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// pipelineDepth is how many appends may be on their way to a follower at once.
const pipelineDepth = 64

// AppendEntriesPipeline opens a connection on which appends are sent without waiting for each other's answers.
func (t *transport) AppendEntriesPipeline(id hraft.ServerID, addr hraft.ServerAddress) (hraft.AppendPipeline, error) {
	c, err := t.n.pool.dial(t.n.ctx, string(addr), forAppend)
	if err != nil {
		return nil, err
	}
	if err := c.is(nodeID(id)); err != nil {
		t.n.pool.drop(c)
		return nil, err
	}
	p := &pipeline{n: t.n, id: id, c: c, flying: make(chan *inFlight, pipelineDepth),
		done: make(chan hraft.AppendFuture, pipelineDepth), stop: make(chan struct{})}
	t.n.tasks.Go(p.receive)
	return p, nil
}

// pipeline sends from the library's replication goroutine and receives in its own.
type pipeline struct {
	n      *Node
	id     hraft.ServerID
	c      *conn
	flying chan *inFlight
	done   chan hraft.AppendFuture
	stop   chan struct{}
	once   sync.Once
}

// inFlight is one append; it implements hraft.AppendFuture.
type inFlight struct {
	start time.Time
	req   *hraft.AppendEntriesRequest
	resp  *hraft.AppendEntriesResponse
	err   error
	parts int // frames it was sent in, each with an answer
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
		op, m := packAppend(p.n, part)
		if err := p.c.send(time.Now().Add(rpcTimeout), op, m); err != nil {
			return nil, err
		}
	}
	select {
	case p.flying <- f:
		return f, nil
	case <-p.stop:
		return nil, hraft.ErrPipelineShutdown
	}
}

func (p *pipeline) receive() {
	for {
		select {
		case f := <-p.flying:
			f.err = p.answer(f)
			close(f.ready)
			if f.err == nil {
				p.n.heard(nodeID(p.id), f.resp.LastLog)
				if f.resp.Success {
					p.n.acknowledgedBy(p.id, f.req.Entries)
				}
			}
			select {
			case p.done <- f:
			case <-p.stop:
				return
			}
		case <-p.stop:
			return
		}
	}
}

// answer reads what the follower said of each part: the first refusal is the answer to all. The library looks at the answer and
// not at the error, so there is none before all are read.
func (p *pipeline) answer(f *inFlight) error {
	answer := hraft.AppendEntriesResponse{Success: true}
	for range f.parts {
		frame, err := p.c.next(time.Now().Add(rpcTimeout))
		if err != nil {
			return err
		}
		var said hraft.AppendEntriesResponse
		if _, err := unpackAppend(frame, &said); err != nil {
			return err
		}
		if answer.Success {
			answer = said
		}
	}
	*f.resp = answer
	return nil
}

// Close ends the pipeline; appends without an answer are sent again by the library.
func (p *pipeline) Close() error {
	p.once.Do(func() {
		close(p.stop)
		p.n.pool.drop(p.c)
	})
	return nil
}
