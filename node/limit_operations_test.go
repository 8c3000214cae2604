package node_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestLimitsCountOperations checks that limits count the operations in a request on every surface: a token of one
// operation a second stores one memory, however the client packs its memories.
func TestLimitsCountOperations(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	active := func(database string) float64 {
		return w.ok("GET", "/v1/stats?database="+database, nil)["active_memories"].(float64)
	}
	// database makes one with a token that may do so much a second.
	database := func(name string, perSecond int) (token string) {
		w.ok("POST", "/v1/databases", obj{"name": name})
		token = w.createToken(obj{"database": name})
		w.ok("POST", "/v1/admin/tokens/limit", obj{"token": token, "max_rps": perSecond})
		return token
	}
	const many = 500

	token := database("models", 1)
	var batch []string
	for i := range many {
		batch = append(batch,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"remember","arguments":{"text":"memory %d"}}}`, i+1, i))
	}
	began := time.Now()
	status, answer := post(t, w.base+"/mcp", token, "["+strings.Join(batch, ",")+"]")
	due := 2 + time.Since(began).Seconds()
	if got := active("models"); got < 1 || got > due {
		t.Errorf("a batch of %d tool calls stored %v memories in %s: %d %.200s", many, got, time.Since(began), status, answer)
	}
	if !strings.Contains(answer, "too many requests for this token") {
		t.Errorf("no message is told why: %.300s", answer)
	}

	token = database("http", 1)
	items := make([]obj, many)
	frame := wire.RememberBatch{}
	for i := range items {
		items[i] = obj{"text": fmt.Sprint("memory ", i)}
		frame.Memories = append(frame.Memories, wire.NewRemember(fmt.Sprint("memory ", i)))
	}
	if status, out := w.with(token).send("POST", "/v1/remember/batch", obj{"memories": items}); status != http.StatusTooManyRequests ||
		out["code"] != "rate_limited" {
		t.Errorf("a batch over HTTP: %d %v", status, out)
	}

	token = database("summary", 1)
	if status, out := w.with(token).send("POST", "/v1/session/end",
		obj{"summary": "One. Two. Three."}); status != http.StatusTooManyRequests || active("summary") != 0 {
		t.Errorf("a summary of three statements: %d %v", status, out)
	}

	token = database("wire", 1)
	cl, err := wireClient(t, c.nodes[0].Addrs().Wire, token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.RememberBatch(t.Context(), frame); err == nil || !strings.Contains(err.Error(), "quota 1 at once for this token") {
		t.Errorf("a batch over the wire: %v", err)
	}
	for _, name := range []string{"http", "wire"} {
		if got := active(name); got != 0 {
			t.Errorf("%s: %v memories were stored", name, got)
		}
	}

	token = database("import", 10)
	began = time.Now()
	var rows strings.Builder
	for i := range 25 {
		fmt.Fprintf(&rows, `{"text":"row %d"}`+"\n", i)
	}
	status, answer = post(t, w.base+"/v1/import", token, rows.String())
	if took := time.Since(began); status != http.StatusOK || active("import") != 25 || took < time.Second {
		t.Errorf("an import of 25 rows at 10 a second took %s: %d %s", took, status, answer)
	}

	database("local", 1)
	w.ok("POST", "/v1/admin/databases/local/quota", obj{"max_rps": 2})
	s := c.nodes[0].Service()
	local, err := c.nodes[0].Access().Local("local")
	if err != nil {
		t.Fatal(err)
	}
	three := &api.RememberBatchRequest{Memories: []api.Draft{{Text: "of a dialect"}, {Text: "of a dialect"}, {Text: "of a dialect"}}}
	if _, err := api.RememberBatch.Do(t.Context(), s, local, three); err == nil ||
		!strings.Contains(err.Error(), "quota 2 at once for this database") {
		t.Errorf("three memories of a dialect of this host: %v", err)
	}
	if _, err := api.ForgetMany.Do(t.Context(), s, local, &api.ForgetManyRequest{RIDs: []string{"a", "b", "c"}}); err == nil ||
		!strings.Contains(err.Error(), "quota 2 at once for this database") {
		t.Errorf("three to forget: %v", err)
	}
	stored := 0
	began = time.Now()
	for time.Since(began) < 500*time.Millisecond {
		if _, err := api.Remember.Do(t.Context(), s, local, &api.RememberRequest{Draft: api.Draft{Text: "one"}}); err == nil {
			stored++
		}
	}
	if took := time.Since(began); stored < 1 || stored > 3+int(2*took.Seconds()) {
		t.Errorf("%d memories of this host in %s at two a second", stored, took)
	}
}

// post sends a request and returns the unparsed answer.
func post(t testing.TB, url, token, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-03-26"} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
