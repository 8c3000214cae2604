package dialect

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// draining is a transport whose end of input comes after the answers to all that was asked: a program that pipes its
// requests in and closes the pipe reads them all.
type draining struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (d draining) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := d.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drained{Connection: c, asked: map[any]bool{}, idle: make(chan struct{}, 1)}, nil
}

type drained struct {
	mcp.Connection
	mu    sync.Mutex
	asked map[any]bool  // by id: not answered yet
	idle  chan struct{} // holds a token when an answer was the last
}

// Read implements mcp.Connection.
func (d *drained) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := d.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.IsCall() {
		d.mu.Lock()
		d.asked[r.ID.Raw()] = true
		d.mu.Unlock()
	}
	if !errors.Is(err, io.EOF) {
		return m, err
	}
	for d.waits() {
		select {
		case <-d.idle:
		case <-ctx.Done():
			return m, err
		}
	}
	return m, err
}

func (d *drained) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.asked) > 0
}

// Write implements mcp.Connection.
func (d *drained) Write(ctx context.Context, m jsonrpc.Message) error {
	err := d.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		d.mu.Lock()
		delete(d.asked, r.ID.Raw())
		d.mu.Unlock()
		select {
		case d.idle <- struct{}{}:
		default:
		}
	}
	return err
}
