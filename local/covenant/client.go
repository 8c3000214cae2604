package covenant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/local/kit"
)

// Client is a connection that has authenticated with the operator's token. It is not safe for concurrent use.
type Client struct{ net net.Conn }

// Dial connects to the daemon of a home.
func Dial(ctx context.Context, home string) (*Client, error) {
	token, err := os.ReadFile(filepath.Join(home, "peers", "operator.token"))
	if err != nil {
		return nil, fmt.Errorf("operator token: %w", err)
	}
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", filepath.Join(home, "sock"))
	if err != nil {
		return nil, err
	}
	end, _ := ctx.Deadline() // zero: no deadline
	_ = nc.SetDeadline(end)
	c := &Client{nc}
	err = c.Call(map[string]any{"kind": "authenticate", "token_b58": strings.TrimSpace(string(token))},
		func(json.RawMessage) error { return nil })
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	return c, nil
}

// Call sends a request and passes the answer to f. It joins the frames of a stream into one answer of the kind that
// the stream replaces.
func (c *Client) Call(request any, f func(json.RawMessage) error) error {
	b, err := kit.JSON(request)
	if err != nil {
		return err
	}
	if err := framing.Write(c.net, b); err != nil {
		return err
	}
	answer, err := c.readAnswer()
	if err != nil {
		return err
	}
	if answer.Kind == "stream_begin" {
		if answer, err = c.readStream(answer); err != nil {
			return err
		}
	}
	return f(answer.raw)
}

type answer struct {
	Kind     string          `json:"kind"`
	Message  string          `json:"message"`
	Reason   string          `json:"reason"`
	Response string          `json:"response_kind"`
	Chunk    json.RawMessage `json:"chunk"`
	Summary  json.RawMessage `json:"summary"`
	raw      json.RawMessage
}

func (c *Client) readAnswer() (a answer, err error) {
	raw, err := framing.Read(c.net, nil)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, err
	}
	a.raw = raw
	switch a.Kind {
	case "error", "stream_error":
		return a, errors.New(a.Message)
	case "authentication_failed":
		return a, errors.New("authentication failed: " + a.Reason)
	}
	return a, nil
}

// readStream joins the chunks and the summary of a stream into one object.
func (c *Client) readStream(begin answer) (answer, error) {
	joined := map[string]json.RawMessage{}
	for {
		a, err := c.readAnswer()
		if err != nil {
			return a, err
		}
		for _, part := range []json.RawMessage{a.Chunk, a.Summary} {
			if len(part) > 0 {
				if err := json.Unmarshal(part, &joined); err != nil {
					return a, err
				}
			}
		}
		if a.Kind == "stream_end" {
			delete(joined, "runtime_events")
			joined["kind"] = json.RawMessage(fmt.Sprintf("%q", begin.Response))
			a.raw, err = kit.JSON(joined)
			return a, err
		}
	}
}

// Close ends the connection.
func (c *Client) Close() error { return c.net.Close() }
