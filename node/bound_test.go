package node_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// A boundStream is a running request whose answer is not read. The operating system buffers a part of its ten
// megabytes. The receive buffer keeps its default size: with a smaller one the window closes, and the sender's probes
// that reopen it become rarer the longer the test does not read.
type boundStream struct {
	t     *testing.T
	nc    net.Conn
	in    *bufio.Reader
	token string
}

// beginStream begins a stream of a database with its own token. On a busy machine an expiring token may end before
// the first line; then it tries again with a token that lives longer.
func beginStream(t *testing.T, admin *web, db, stream string, expires bool) *boundStream {
	t.Helper()
	for life := 10 * time.Second; ; life *= 2 {
		asked := obj{"database": db, "scopes": []string{"read", "write"}}
		if expires {
			asked["expires_at"] = float64(time.Now().Add(life).Unix())
		}
		s := &boundStream{t: t, token: admin.ok("POST", "/v1/admin/tokens", asked)["token"].(string)}
		var err error
		if s.nc, err = net.Dial("tcp", strings.TrimPrefix(admin.base, "http://")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.nc.Close() })
		s.deadline(suite.Patience)
		s.in = bufio.NewReaderSize(s.nc, 1<<10)
		s.begin(stream)
		if stream == "import" {
			return s
		}
		line, err := s.in.ReadString('\n')
		switch {
		case err == nil && strings.Contains(line, " 200 "):
			return s
		case !expires || life > suite.Patience || err != io.EOF && !strings.Contains(line, " 401 "):
			t.Fatalf("%q, %v", line, err)
		}
	}
}

func (s *boundStream) deadline(d time.Duration) {
	if err := s.nc.SetDeadline(time.Now().Add(d)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *boundStream) ask(method, path, more string) {
	fmt.Fprintf(s.nc, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\n%s\r\n", method,
		path, s.token, more)
}

func (s *boundStream) begin(stream string) {
	switch stream {
	case "events":
		s.ask("GET", "/v1/events", "")
	case "export":
		s.ask("GET", "/v1/export", "")
	case "recall", "mcp":
		path, body, accept := "/v1/recall", `{"query":"heron","top_k":160}`, "text/event-stream"
		if stream == "mcp" {
			path, accept = "/mcp", "application/json, text/event-stream"
			body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"query":"heron","top_k":160}}}`
		}
		s.ask("POST", path, fmt.Sprintf("Accept: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", accept, len(body)))
		fmt.Fprint(s.nc, body)
	case "import":
		s.ask("POST", "/v1/import", "Transfer-Encoding: chunked\r\n")
		line := `{"type":"memory","text":"before"}` + "\n"
		fmt.Fprintf(s.nc, "%x\r\n%s\r\n", len(line), line)
	}
}

// TestStreamsEndWithTheirCaller checks that an event stream, an export, a streamed recall, an answer to a model, and
// an import end when their token is revoked or expires, or their database is dropped, even if they wait for the
// client. Nothing that an import sends after that is stored.
func TestStreamsEndWithTheirCaller(t *testing.T) {
	t.Parallel()
	admin := start(t, 1).web(0)
	for _, end := range []string{"revoked", "expired", "dropped"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			for _, db := range []string{end, end + "-import"} {
				admin.ok("POST", "/v1/databases", obj{"name": db})
			}
			for range 4 {
				var many []obj
				for range 40 {
					many = append(many, obj{"text": "heron " + strings.Repeat("x", longText)})
				}
				admin.ok("POST", "/v1/remember/batch?database="+end, obj{"memories": many})
			}
			streams := map[string]*boundStream{}
			for _, stream := range []string{"events", "export", "import", "recall", "mcp"} {
				db := end
				if stream == "import" {
					db += "-import"
				}
				streams[stream] = beginStream(t, admin, db, stream, end == "expired")
			}
			if end == "dropped" {
				admin.ok("DELETE", "/v1/databases/"+end, nil)
				admin.ok("DELETE", "/v1/databases/"+end+"-import", nil)
			}
			for stream, s := range streams {
				if end == "revoked" {
					admin.ok("POST", "/v1/admin/tokens/revoke", obj{"token": s.token})
				}
				suite.Eventually(t, "the token ends", func() bool {
					status, _ := admin.with(s.token).send("GET", "/v1/stats", nil)
					return status == http.StatusUnauthorized
				})
				s.readToEnd(t, stream)
			}
			if end == "dropped" {
				return
			}
			if got := admin.ok("GET", "/v1/memories?database="+end+"-import", nil)["total"].(float64); got != 0 {
				t.Errorf("%g memories of an import that was ended", got)
			}
		})
	}
}

// longText is the length of each of 160 texts, which together exceed the operating system's buffers.
const longText = 64 << 10

// readToEnd reads a stream whose token has ended, up to its end.
func (s *boundStream) readToEnd(t *testing.T, stream string) {
	t.Helper()
	s.deadline(25 * time.Second) // sooner than a sender or a reader may be silent
	said, err := io.ReadAll(s.in)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Fatalf("the %s goes on: %.200s", stream, said)
	}
	whole := strings.HasSuffix(string(said), "0\r\n\r\n")
	switch {
	case stream == "import" && !strings.Contains(string(said), " 401 ") && !strings.Contains(string(said), " 404 "):
		t.Errorf("the import was answered %q", said)
	case stream == "recall" && strings.Contains(string(said), "event: end"),
		stream == "mcp" && len(said) > 100*longText && whole, // a short answer is a complete error
		stream == "export" && whole:
		t.Errorf("the %s ended as if it were whole, with %d bytes", stream, len(said))
	}
}

// TestAnEndedRequestLeavesItsConnection checks that a connection serves further requests after a token was revoked
// during a request on it.
func TestAnEndedRequestLeavesItsConnection(t *testing.T) {
	t.Parallel()
	admin := start(t, 1).web(0)
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	t.Cleanup(client.CloseIdleConnections)
	ask := func(token, method, path, body string) (int, string, error) {
		req, err := http.NewRequestWithContext(t.Context(), method, admin.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		if path == "/mcp" {
			req.Header.Set("Accept", "application/json, text/event-stream")
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		said, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(said), err
	}
	admin.ok("POST", "/v1/remember", obj{"text": "a heron"})
	paths := []string{"/v1/recall", "/mcp"}
	bodies := []string{`{"query":"heron"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"query":"heron"}}}`}
	for i := range 80 {
		path, body := paths[i%2], bodies[i%2]
		token := admin.ok("POST", "/v1/admin/tokens", obj{"scopes": []string{"read"}})["token"].(string)
		revoked := make(chan struct{})
		go func() { // ends with the request
			defer close(revoked)
			admin.with(admin.token).ok("POST", "/v1/admin/tokens/revoke", obj{"token": token})
		}()
		for over := false; !over; { // requests that run when the token ends
			status, said, err := ask(token, "POST", path, body)
			if over = status == http.StatusUnauthorized; !over &&
				(status != http.StatusOK || !strings.Contains(said, "a heron") || err != nil) {
				t.Fatalf("round %d: %d %q, %v", i, status, said, err)
			}
		}
		if status, said, err := ask(admin.token, "POST", path, body); status != http.StatusOK || !strings.Contains(said, "a heron") ||
			err != nil {
			t.Fatalf("round %d, the next request on the connection: %d %q, %v", i, status, said, err)
		}
		suite.Receive(t, "the revocation", revoked)
	}
}
