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

// TestStreamsEndWithTheirCaller: an event stream, an export, a streamed recall and an answer to a model whose readers
// wait, and an import whose sender waits end when their token is revoked or expires, or their database is dropped. What
// an import sends after that is not stored.
func TestStreamsEndWithTheirCaller(t *testing.T) {
	t.Parallel()
	admin := start(t, 1).web(0)
	text := strings.Repeat("x", 64<<10)
	for _, end := range []string{"revoked", "expired", "dropped"} {
		for _, stream := range []string{"events", "export", "import", "recall", "mcp"} {
			t.Run(stream+" "+end, func(t *testing.T) {
				t.Parallel()
				db, begun := end+stream, time.Now()
				admin.ok("POST", "/v1/databases", obj{"name": db})
				if stream == "export" || stream == "recall" || stream == "mcp" {
					for range 4 {
						var many []obj
						for range 40 {
							many = append(many, obj{"text": "heron " + text})
						}
						admin.ok("POST", "/v1/remember/batch?database="+db, obj{"memories": many})
					}
				}
				asked := obj{"database": db, "scopes": []string{"read", "write"}}
				if end == "expired" {
					life := 10*time.Second + 4*time.Since(begun) // a busy machine needs longer until its first line
					asked["expires_at"] = float64(time.Now().Add(life).Unix())
				}
				token := admin.ok("POST", "/v1/admin/tokens", asked)["token"].(string)
				nc, err := net.Dial("tcp", strings.TrimPrefix(admin.base, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				if err := nc.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil { // the system does not take in a whole answer
					t.Fatal(err)
				}
				deadline := func(d time.Duration) {
					if err := nc.SetDeadline(time.Now().Add(d)); err != nil {
						t.Fatal(err)
					}
				}
				deadline(suite.Patience)
				ask := func(method, path, more string) {
					fmt.Fprintf(nc, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\n%s\r\n", method, path, token, more)
				}
				in := bufio.NewReaderSize(nc, 1<<10)
				switch stream {
				case "events":
					ask("GET", "/v1/events", "")
				case "export":
					ask("GET", "/v1/export", "")
				case "recall", "mcp":
					path, body, accept := "/v1/recall", `{"query":"heron","top_k":160}`, "text/event-stream"
					if stream == "mcp" {
						path, accept = "/mcp", "application/json, text/event-stream"
						body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"query":"heron","top_k":160}}}`
					}
					ask("POST", path, fmt.Sprintf("Accept: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", accept, len(body)))
					fmt.Fprint(nc, body)
				case "import":
					ask("POST", "/v1/import", "Transfer-Encoding: chunked\r\n")
					line := `{"type":"memory","text":"before"}` + "\n"
					fmt.Fprintf(nc, "%x\r\n%s\r\n", len(line), line)
				}
				if stream != "import" {
					if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
						t.Fatalf("%q, %v", line, err)
					}
				}
				switch end {
				case "revoked":
					admin.ok("POST", "/v1/admin/tokens/revoke", obj{"token": token})
				case "dropped":
					admin.ok("DELETE", "/v1/databases/"+db, nil)
				}
				suite.Eventually(t, "the token ends", func() bool {
					status, _ := admin.with(token).send("GET", "/v1/stats", nil)
					return status == http.StatusUnauthorized
				})
				deadline(25 * time.Second) // sooner than a sender or a reader may be silent
				said, err := io.ReadAll(in)
				if ne, ok := err.(net.Error); ok && ne.Timeout() {
					t.Fatalf("it goes on: %.200s", said)
				}
				switch {
				case stream == "import" && !strings.Contains(string(said), " 401 ") && !strings.Contains(string(said), " 404 "):
					t.Errorf("the import was answered %q", said)
				case stream == "recall" && strings.Contains(string(said), "event: end"), stream == "mcp" && strings.HasSuffix(string(said), "0\r\n\r\n"):
					t.Errorf("the %s ended as if it were whole", stream)
				case stream == "export" && strings.HasSuffix(string(said), "0\r\n\r\n"):
					t.Error("the export ended as if it were whole")
				}
				if stream == "import" && end != "dropped" {
					if got := admin.ok("GET", "/v1/memories?database="+db, nil)["total"].(float64); got != 0 {
						t.Errorf("%g memories of an import that was ended", got)
					}
				}
			})
		}
	}
}
