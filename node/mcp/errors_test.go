package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// failing is a door that returns an error for all operations, and for messages if counted is set.
type failing struct {
	api.Door
	err     error
	counted bool
}

func (f failing) Do(_ context.Context, _ api.Caller, op *api.Op, _ any) (any, error) {
	if op == api.Message.Op && !f.counted {
		return &api.Nothing{}, nil
	}
	return nil, f.err
}

func (failing) May(api.Caller, *api.Op) error { return nil }

// TestCausesStayHere checks that a model gets the text of an error but never its cause, and that internal errors are
// logged.
func TestCausesStayHere(t *testing.T) {
	t.Parallel()
	const cause = "open /srv/cairn/state: input/output error"
	messages := map[string]string{
		"tool":       `"method":"tools/call","params":{"name":"recall","arguments":{"query":"x"}}`,
		"graph":      `"method":"tools/call","params":{"name":"read_graph","arguments":{}}`,
		"list":       `"method":"resources/read","params":{"uri":"cairn://memories/recent"}`,
		"memory":     `"method":"resources/read","params":{"uri":"cairn://memory/x"}`,
		"knowledge":  `"method":"resources/read","params":{"uri":"memory://knowledge-graph"}`,
		"prompt":     `"method":"prompts/get","params":{"name":"known","arguments":{"topic":"x"}}`,
		"completion": `"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"cairn://memory/{rid}"},"argument":{"name":"rid","value":""}}`,
		"counting":   `"method":"tools/list"`,
	}
	for _, c := range []struct {
		err    error
		reads  string
		logged bool
	}{
		{&oplog.Error{Kind: oplog.Unavailable, Text: "no leader is known", Err: errors.New(cause)}, "no leader is known", false},
		{errors.New(cause), "internal error", true},
		{fmt.Errorf("ask: %w", context.DeadlineExceeded), "did not get to it in time", false},
	} {
		for name, said := range messages {
			log := new(bytes.Buffer)
			message := `{"jsonrpc":"2.0","id":1,` + said + `}`
			profile := api.ToolsCore
			if name == "graph" || name == "knowledge" {
				profile = api.ToolsMemory
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp?tools="+profile, strings.NewReader(message))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			w := httptest.NewRecorder()
			New(Config{Door: failing{err: c.err, counted: name == "counting"}, Version: "test",
				Log: slog.New(slog.NewTextHandler(log, nil))}).Serve(w, r, api.Caller{}, []byte(message), nil)
			if got := w.Body.String(); strings.Contains(got, "/srv") || !strings.Contains(got, c.reads) {
				t.Errorf("%s: a model reads %s; want %s", name, got, c.reads)
			}
			if strings.Contains(log.String(), cause) != c.logged {
				t.Errorf("%s: %v: the log has %q", name, c.err, log)
			}
		}
	}
}
