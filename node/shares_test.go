package node_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// twoTenants creates two tenants of one node, each with a database and its own token.
func twoTenants(t *testing.T, w *web) (other *web, tokens [2]string) {
	t.Helper()
	for i, name := range []string{"greedy", "other"} {
		w.ok("POST", "/v1/databases", obj{"name": name})
		tokens[i] = w.ok("POST", "/v1/admin/tokens", obj{"database": name, "scopes": []string{"read", "write"}})["token"].(string)
	}
	return w.with(tokens[1]), tokens
}

// sendPart sends the header of a request and a part of its body, on its own connection that stays open.
func sendPart(t *testing.T, w *web, method, path, token string, length int, begun string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	fmt.Fprintf(nc, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, token, length, begun)
	return nc
}

// TestNoTenantTakesAll lets one tenant open as many as possible of bodies that never come or stop half way, imports
// that send nothing, and event streams. Another tenant's large write, import and stream still work.
func TestNoTenantTakesAll(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	other, tokens := twoTenants(t, w)
	for range 80 {
		sendPart(t, w, "POST", "/v1/remember", tokens[0], 4<<20, "")
		sendPart(t, w, "POST", "/v1/remember", tokens[0], 4<<20, `{"text":"`+strings.Repeat("x", 100<<10))
	}
	for range 20 {
		sendPart(t, w, "POST", "/v1/import", tokens[0], 4<<20, "")
	}
	refused := 0
	suite.Eventually(t, "imports of one tenant to be refused", func() bool {
		nc := sendPart(t, w, "POST", "/v1/import", tokens[0], 1, "\n")
		line, _ := bufio.NewReader(nc).ReadString('\n')
		if strings.Contains(line, "503") {
			refused++
		}
		return refused > 0
	})
	other.ok("POST", "/v1/remember", obj{"text": strings.Repeat("tea ", 50_000)})
	const row = `{"type":"memory","text":"imported"}`
	nc := sendPart(t, w, "POST", "/v1/import", tokens[1], len(row), row)
	if line, _ := bufio.NewReader(nc).ReadString('\n'); !strings.Contains(line, "200") {
		t.Errorf("the other's import: %s", line)
	}
	if got := other.ok("GET", "/v1/memories", nil); got["total"] != 2.0 {
		t.Errorf("the other's list: %v", got)
	}
}

// TestLargeAnswersEnd checks that an answer has at most 16 MiB of memories, and that a list then has a cursor, and a
// recall the number of omitted rows.
func TestLargeAnswersEnd(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	w := start(t, 1).web(0)
	const rows = 24
	for i := range rows {
		w.ok("POST", "/v1/remember", obj{"text": fmt.Sprintf("tea %d ", i) + strings.Repeat("x", 1<<20-100), "session_id": ""})
	}
	seen, pages := 0, 0
	for path := "/v1/memories?limit=200"; path != ""; pages++ {
		got := w.ok("GET", path, nil)
		n := len(got["items"].([]any))
		if n == 0 || n > 16 {
			t.Fatalf("a page of %d rows", n)
		}
		seen += n
		path = ""
		if next, more := got["next_offset"]; more {
			path = fmt.Sprintf("/v1/memories?limit=200&offset=%.0f", next)
		}
	}
	if seen != rows || pages != 2 {
		t.Errorf("%d rows in %d pages", seen, pages)
	}
	walked := w.ok("GET", "/v1/records?limit=200", nil)
	if n := len(walked["records"].([]any)); n > 16 || walked["next_cursor"] == nil {
		t.Errorf("a walk has %d rows and goes on at %v", n, walked["next_cursor"])
	}
	got := w.ok("POST", "/v1/recall", obj{"query": "tea", "top_k": 1000})
	if n := len(got["results"].([]any)); n > 16 || float64(n)+got["left_out"].(float64) != rows {
		t.Errorf("a recall has %d rows, and left out %v", n, got["left_out"])
	}
	for _, path := range []string{"/v1/temporal/stale?days=0", "/v1/chronology"} {
		if status, got := w.send("GET", path, nil); status == http.StatusOK && len(got["items"].([]any)) > 16 {
			t.Errorf("%s has %d rows", path, len(got["items"].([]any)))
		}
	}
}
