package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// web is a client of one node's gateway.
type web struct {
	t     testing.TB
	base  string
	token string
}

// asSent is an HTTP client that follows no redirect.
var asSent = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// refuse configures a node whose gateway does not forward writes.
func refuse(_ int, cfg *node.Config) { cfg.Surfaces.ForwardWrites = new(false) }

// send sends a request. A body that is not a string is sent as JSON.
func (w *web) send(method, path string, body any) (int, map[string]any) {
	w.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, w.base+path, in)
	if err != nil {
		w.t.Fatal(err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if w.token != "" {
		req.Header.Set("Authorization", "Bearer "+w.token)
	}
	return w.do(req)
}

// do sends a request unchanged.
func (w *web) do(req *http.Request) (int, map[string]any) {
	w.t.Helper()
	resp, err := asSent.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil && resp.StatusCode != http.StatusNotFound &&
		resp.StatusCode != http.StatusMethodNotAllowed {
		w.t.Fatalf("%s %s: %d %q", req.Method, req.URL.Path, resp.StatusCode, b)
	}
	return resp.StatusCode, out
}

func (w *web) ok(method, path string, body any) map[string]any {
	w.t.Helper()
	status, out := w.send(method, path, body)
	if status != http.StatusOK {
		w.t.Fatalf("%s %s: %d %v", method, path, status, out)
	}
	return out
}

type obj = map[string]any

// position parses a log_index, which is opaque to clients.
func position(t testing.TB, v any) oplog.Index {
	t.Helper()
	at, err := field.ParseToken(v.(string))
	if err != nil {
		t.Fatal(err)
	}
	return oplog.Index(at)
}

func keys(m any) string {
	return strings.Join(slices.Sorted(maps.Keys(m.(map[string]any))), " ")
}
