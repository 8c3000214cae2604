package node_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestACrowdedBatchIsRefused checks that a batch of too many messages is rejected before the library decodes them.
func TestACrowdedBatchIsRefused(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for body, refused := range map[string]bool{
		"[" + strings.Repeat("0,", 1<<20) + "0]":                                  true,
		` [` + strings.Repeat(`{"a":[1,2,",\"]"]},`, 1000) + `{}]`:                true,
		`[` + strings.Repeat(`{"a":[1,2,",\"]"]},`, 999) + `{}]`:                  false,
		`{"a":[` + strings.Repeat("0,", 2000) + `0]}`:                             false,
		`[{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat(`,`, 2000) + `"}]`: false,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Authorization": "Bearer " + w.token, "Content-Type": "application/json",
			"Accept": "application/json, text/event-stream"} {
			r.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || refused != (resp.StatusCode == http.StatusBadRequest && strings.Contains(string(said), "at most 1000 messages")) {
			t.Errorf("%.40s: %s %s, %v", body, resp.Status, said, err)
		}
	}
}

// TestMalformedJSONIsAParseError checks that malformed JSON gets a JSON-RPC parse error instead of plain text.
func TestMalformedJSONIsAParseError(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, body := range []string{`{"jsonrpc":"2.0","id":1`, `[{"jsonrpc":"2.0"}`, `ping`, "{}{}"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Authorization": "Bearer " + w.token, "Content-Type": "application/json",
			"Accept": "application/json, text/event-stream"} {
			r.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		const want = `{"error":{"code":-32700,"message":"Parse error: malformed JSON"},"id":null,"jsonrpc":"2.0"}` + "\n"
		if err != nil || resp.StatusCode != http.StatusBadRequest || resp.Header.Get("Content-Type") != "application/json" ||
			string(said) != want {
			t.Errorf("%s: %s %s, %v", body, resp.Status, said, err)
		}
	}
}
