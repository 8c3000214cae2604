package transport

import (
	"errors"
	"net"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestHalfAnAnswerIsNone: a connection breaks after the follower has accepted one of two frames. The answer must not
// report success, because the Raft library reads the follower's position from the answer and not from the error.
func TestHalfAnAnswerIsNone(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		ok := &wire.OplogPushOK{LastHLC: []byte{}, Raft: &wire.RaftAppendReply{Term: 1, LastLog: 7, Success: true}}
		b, err := wire.AppendPack(nil, wire.OpOplogPushOK, 0, ok, false)
		if err == nil {
			_, err = there.Write(b)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	p := &pipeline{c: &Conn{Conn: here, r: wire.NewReader(here, wire.MaxPlainPeer)}}
	f := &inFlight{parts: 2, resp: &hraft.AppendEntriesResponse{}}
	if _, err := p.answer(f); err == nil || f.resp.Success {
		t.Errorf("%+v, %v", f.resp, err)
	}
}

// TestAPipelineEndsWithARefusal: after a rejection, the Raft library reads no more answers. It closes a pipeline from
// the goroutine that sends, so sending must not wait until answers are read.
func TestAPipelineEndsWithARefusal(t *testing.T) {
	t.Parallel()
	p := startPair(t, nil)
	line, err := p.pool.t.AppendEntriesPipeline(ServerID(2), hraft.ServerAddress(p.addr))
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	ended := make(chan error, 1)
	go func() {
		for err == nil {
			_, err = line.AppendEntries(&hraft.AppendEntriesRequest{Term: 1}, &hraft.AppendEntriesResponse{})
		}
		ended <- err
	}()
	if err := suite.Receive(t, "an append to be refused", ended); !errors.Is(err, hraft.ErrPipelineShutdown) {
		t.Errorf("sending ended with %v", err)
	}
}
