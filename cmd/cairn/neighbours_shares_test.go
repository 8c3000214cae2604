package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// attackedMemory bounds the memory of a node with GOMEMLIMIT=360MiB under each attack. It is above that limit, which
// is soft: the runtime spends at most half of the CPU on garbage collection and then lets the heap grow.
var attackedMemory = int64(suite.Count(400, 400, 512)) << 20

// TestNeighboursCostLittle attacks a node with a database of 200 memories of 1 MB each. The attacker's token requests
// all of them, in each way and many times concurrently, and reads slowly or not at all. It also opens bodies that
// never arrive and connections that stay silent. The node must stay below attackedMemory and serve a client of
// another database throughout.
func TestNeighboursCostLittle(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "it weighs a process, which holds several times as much under the race detector")
	if runtime.GOOS != "linux" {
		t.Skip("the memory of another process is read in /proc, which this system has not")
	}
	p := &cairntest.Node{T: t,
		Args: []string{"dev", "--home", filepath.Join(shortDir(t), "h"), "--log-level", "error", "--port-base",
			fmt.Sprint(cairntest.FreePorts(t, 6))},
		Env: []string{"GOMEMLIMIT=360MiB"}}
	t.Cleanup(p.Kill)
	p.Launch()()
	admin := fileText(t, filepath.Join(p.Line.Home, "cluster.secret"))
	tokens := map[string]string{}
	for _, db := range []string{"large", "other"} {
		gateway(t, p, admin, "POST", "/v1/databases", map[string]any{"name": db})
		tokens[db] = gateway(t, p, admin, "POST", "/v1/admin/tokens",
			map[string]any{"database": db, "scopes": []string{"read", "write"}})["token"].(string)
	}
	for i := range 200 {
		gateway(t, p, tokens["large"], "POST", "/v1/remember",
			map[string]any{"text": fmt.Sprintf("tea %d %s", i, strings.Repeat("x", 1<<20-100))})
	}
	ask := func(method, path, body string) string {
		return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
			method, path, tokens["large"], len(body), body)
	}
	const mcp = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"query":"tea","top_k":1000}}}`
	for name, head := range map[string]string{
		"a list":        ask("GET", "/v1/memories?limit=1000", ""),
		"a sorted list": ask("GET", "/v1/memories?limit=1000&sort=importance", ""),
		"a walk":        ask("GET", "/v1/records?limit=1000", ""),
		"a recall": strings.Replace(ask("POST", "/v1/recall", `{"query":"tea","top_k":1000}`),
			", text/event-stream", "", 1),
		"a streamed recall": ask("POST", "/v1/recall", `{"query":"tea","top_k":1000}`),
		"a model's recall":  ask("POST", "/mcp", mcp),
		"an export":         ask("GET", "/v1/export", ""),
		"a body that never comes": strings.TrimSuffix(strings.Replace(ask("POST", "/v1/remember", "{"),
			"Content-Length: 1", "Content-Length: 4000000", 1), "{"),
		"a body that stops half way": strings.Replace(ask("POST", "/v1/remember", `{"text":"`+strings.Repeat("x", 2<<20)),
			"Content-Length: 20", "Content-Length: 40", 1),
		"a connection that says naught": "",
	} {
		t.Run(name, func(t *testing.T) {
			p.Kill() // restart, so that aftereffects of one attack do not count for the next
			p.Launch()()
			pid, addr := p.Cmd.Process.Pid, strings.TrimPrefix(p.Line.HTTP, "http://")
			ctx, over := context.WithTimeout(t.Context(), time.Duration(suite.Count(1, 3, 15))*time.Second)
			defer over()
			var all sync.WaitGroup
			for i := range suite.Count(60, 60, 300) {
				all.Go(func() {
					nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
					if err != nil {
						return // over the bound of connections
					}
					defer nc.Close()
					if _, err := io.WriteString(nc, head); err == nil && i%3 > 0 { // a third of the clients never read
						in := io.Reader(nc)
						if i%3 == 1 {
							in = io.LimitReader(nc, 64<<10)
						}
						all.Go(func() { _, _ = io.Copy(io.Discard, in) }) // ends with the connection
					}
					<-ctx.Done()
				})
			}
			peak, served := int64(0), 0
			for ctx.Err() == nil {
				peak = max(peak, ownMemory(t, pid))
				gateway(t, p, tokens["other"], "GET", "/v1/stats", nil)
				served++
			}
			all.Wait()
			t.Logf("%d MiB at most; the other client was served %d times", peak>>20, served)
			if peak > attackedMemory {
				t.Errorf("the node held %d MiB", peak>>20)
			}
			if served == 0 {
				t.Error("the other client was not served")
			}
		})
	}
}

// ownMemory returns the memory of a process without mapped files, whose pages the system can reclaim.
func ownMemory(t *testing.T, pid int) int64 {
	t.Helper()
	for line := range strings.Lines(fileText(t, fmt.Sprintf("/proc/%d/status", pid))) {
		if kib, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, err := strconv.ParseInt(strings.Fields(kib)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the system does not tell a process's own memory")
	return 0
}
