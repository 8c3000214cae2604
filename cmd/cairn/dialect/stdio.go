package dialect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairndb/cairn/wire/field"
)

// stdio is a transport with one message a line. It reports the end of input only after all requests are answered, so
// a program that pipes requests in and closes the pipe gets all answers. It answers a malformed line with an error
// and continues, where the library would end.
type stdio struct {
	in  io.Reader
	out *lineWriter
}

// Connect implements mcp.Transport.
func (t stdio) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := (&mcp.IOTransport{Reader: filterMessages(t.in, t.out), Writer: t.out, MaxLineLength: -1}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainingConn{Connection: c, out: t.out, pending: map[any]bool{}, idle: make(chan struct{}, 1)}, nil
}

// filterMessages passes on the lines that are valid JSON, and answers the others with an error. A line over the
// library's bound ends the input.
func filterMessages(in io.Reader, out *lineWriter) io.ReadCloser {
	r, w := io.Pipe()
	go func() { // ends with the input, or with the process
		all := bufio.NewScanner(in)
		all.Buffer(nil, mcp.DefaultMaxLineLength)
		for all.Scan() {
			line := bytes.TrimSpace(all.Bytes())
			switch err := field.UTF8(line); {
			case len(line) == 0:
			case err != nil:
				out.writeError(jsonrpc.CodeParseError, "Parse error: "+err.Error())
			case !json.Valid(line):
				out.writeError(jsonrpc.CodeParseError, "Parse error: want one JSON value on a line")
			default:
				if _, err := w.Write(append(bytes.Clone(line), '\n')); err != nil {
					return
				}
			}
		}
		if err := all.Err(); err != nil {
			out.writeError(jsonrpc.CodeParseError, "Parse error: "+err.Error())
		}
		w.Close()
	}()
	return r
}

// lineWriter serializes writes of whole lines.
type lineWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(b)
}

// Close does nothing: stdout belongs to the process.
func (l *lineWriter) Close() error { return nil }

// writeError writes an error response without an id, for a line whose id is unknown.
func (l *lineWriter) writeError(code int, text string) {
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text}}) // encoding strings cannot fail
	_, _ = l.Write(append(b, '\n'))                                                                                           // if the reader is gone, the input ends too
}

type drainingConn struct {
	mcp.Connection
	out     *lineWriter
	mu      sync.Mutex
	pending map[any]bool  // ids of the requests that are not answered yet
	idle    chan struct{} // signals Read that an answer was written
}

// Read implements mcp.Connection.
func (d *drainingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := d.Connection.Read(ctx)
	for err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) { // valid JSON, but not a message
		d.out.writeError(jsonrpc.CodeInvalidRequest, "Invalid Request: want a message of JSON-RPC 2.0")
		m, err = d.Connection.Read(ctx)
	}
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.IsCall() {
		d.mu.Lock()
		d.pending[r.ID.Raw()] = true
		d.mu.Unlock()
	}
	if !errors.Is(err, io.EOF) {
		return m, err
	}
	for d.hasPending() {
		select {
		case <-d.idle:
		case <-ctx.Done():
			return m, err
		}
	}
	return m, err
}

func (d *drainingConn) hasPending() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pending) > 0
}

// Write implements mcp.Connection.
func (d *drainingConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := d.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		d.mu.Lock()
		delete(d.pending, r.ID.Raw())
		d.mu.Unlock()
		select {
		case d.idle <- struct{}{}:
		default:
		}
	}
	return err
}
