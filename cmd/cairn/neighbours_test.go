package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// floodMemory bounds the growth of a node's memory while anonymous clients flood one of its ports.
const floodMemory = 16 << 20

// anonymousFlood opens connections that each send head and then a body without its last byte. It returns the growth
// of the node's memory while they were open, and passes the node's answer on each connection to answered.
func anonymousFlood(t *testing.T, p *cairntest.Node, addr string, connections int, head string, body []byte, answered func(said string)) (grew int64) {
	t.Helper()
	pid := p.Cmd.Process.Pid
	before, _ := procStat(t, pid)
	var all sync.WaitGroup
	done := make(chan struct{})
	for range connections {
		all.Go(func() {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
			read := make(chan string, 1)
			go func() {
				b, _ := io.ReadAll(bufio.NewReader(nc)) // data before the end of the connection counts
				read <- string(b)
			}()
			if _, err := io.WriteString(nc, head); err == nil {
				_, _ = nc.Write(body) // fails after the node has answered
			}
			answered(<-read)
		})
	}
	go func() { all.Wait(); close(done) }()
	peak := before
	for {
		now, _ := procStat(t, pid)
		peak = max(peak, now)
		select {
		case <-done:
			return peak - before
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestAnonymousFloodsHoldNoMemory checks that a node reads a body only for clients with a valid token: it must reject
// 300 anonymous connections with 4 MiB each at once, at the cost of the connections only.
func TestAnonymousFloodsHoldNoMemory(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "it weighs a process, which holds several times as much under the race detector")
	if runtime.GOOS != "linux" {
		t.Skip("the memory of another process is read in /proc, which this system has not")
	}
	home := filepath.Join(shortDir(t), "h")
	p := &cairntest.Node{T: t,
		Args: []string{"dev", "--home", home, "--log-level", "error", "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))}}
	t.Cleanup(p.Kill)
	p.Launch()()
	addr := strings.TrimPrefix(p.Line.HTTP, "http://")
	large, small := []byte(`{"text":"`+strings.Repeat("x", 4<<20-20)), []byte(`{"text":`)
	for _, f := range []struct {
		name, method, path, token string
		body                      []byte
		status                    int
	}{
		{"a write without a token", "POST", "/v1/remember", "", large, http.StatusUnauthorized},
		{"a write with a wrong token", "POST", "/v1/remember", "ydb_wrong", large, 0},
		{"a small write that does not end", "POST", "/v1/remember", "", small, http.StatusUnauthorized},
		{"a batch without a token", "POST", "/v1/remember/batch", "", large, http.StatusUnauthorized},
		{"an import without a token", "POST", "/v1/import", "", large, http.StatusUnauthorized},
		{"a model without a token", "POST", "/mcp", "", large, http.StatusUnauthorized},
		{"the console", "GET", "/", "", large, http.StatusOK},
		{"no such page", "POST", "/nothing", "", large, http.StatusNotFound},
	} {
		t.Run(f.name, func(t *testing.T) {
			head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n",
				f.method, f.path, len(f.body)+1)
			if f.token != "" {
				head += "Authorization: Bearer " + f.token + "\r\n"
			}
			var mu sync.Mutex
			answers := map[string]int{}
			began := time.Now()
			grew := anonymousFlood(t, p, addr, 300, head+"\r\n", f.body, func(answer string) {
				line, _, _ := strings.Cut(answer, "\r\n")
				mu.Lock()
				defer mu.Unlock()
				answers[line]++
			})
			t.Logf("memory grew by %d MiB in %s; answers: %v", grew>>20, time.Since(began).Round(time.Millisecond), answers)
			if grew > floodMemory {
				t.Errorf("memory grew by %d MiB", grew>>20)
			}
			for line := range answers {
				ok := strings.Contains(line, fmt.Sprint(f.status))
				if f.status == 0 {
					ok = strings.Contains(line, "401") || strings.Contains(line, "429")
				}
				if !ok {
					t.Errorf("%d connections were answered %q", answers[line], line)
				}
			}
		})
	}
}
