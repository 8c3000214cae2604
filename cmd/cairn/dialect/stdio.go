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

// stdio is a transport of a message a line. Its end of input comes after the answers to all that was asked: a program
// that pipes its requests in and closes the pipe reads them all. A line that is not a message is answered with an
// error, and the next one is read; the library would end there.
type stdio struct {
	in  io.Reader
	out *lines
}

// Connect implements mcp.Transport.
func (t stdio) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := (&mcp.IOTransport{Reader: messages(t.in, t.out), Writer: t.out, MaxLineLength: -1}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drained{Connection: c, out: t.out, asked: map[any]bool{}, idle: make(chan struct{}, 1)}, nil
}

// messages passes on the lines that are JSON, and answers the others. One over the library's bound ends the input.
func messages(in io.Reader, out *lines) io.ReadCloser {
	r, w := io.Pipe()
	go func() { // ends with the input, or with the process
		all := bufio.NewScanner(in)
		all.Buffer(nil, mcp.DefaultMaxLineLength)
		for all.Scan() {
			line := bytes.TrimSpace(all.Bytes())
			switch err := field.UTF8(line); {
			case len(line) == 0:
			case err != nil:
				out.refuse(jsonrpc.CodeParseError, "Parse error: "+err.Error())
			case !json.Valid(line):
				out.refuse(jsonrpc.CodeParseError, "Parse error: want one JSON value on a line")
			default:
				if _, err := w.Write(append(bytes.Clone(line), '\n')); err != nil {
					return
				}
			}
		}
		if err := all.Err(); err != nil {
			out.refuse(jsonrpc.CodeParseError, "Parse error: "+err.Error())
		}
		w.Close()
	}()
	return r
}

// lines writes lines, each with one Write.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(b)
}

// Close leaves the output to the process.
func (l *lines) Close() error { return nil }

// refuse answers a line whose id is not known.
func (l *lines) refuse(code int, text string) {
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text}}) // texts always encode
	_, _ = l.Write(append(b, '\n'))                                                                                           // a reader that is gone ends the input too
}

type drained struct {
	mcp.Connection
	out   *lines
	mu    sync.Mutex
	asked map[any]bool  // by id: not answered yet
	idle  chan struct{} // holds a token when an answer was the last
}

// Read implements mcp.Connection.
func (d *drained) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := d.Connection.Read(ctx)
	for err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) { // JSON, and no message
		d.out.refuse(jsonrpc.CodeInvalidRequest, "Invalid Request: want a message of JSON-RPC 2.0")
		m, err = d.Connection.Read(ctx)
	}
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
