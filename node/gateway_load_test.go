package node_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestOverloadIsShed checks that requests beyond the limit are rejected with Retry-After, and that health checks are
// answered.
func TestOverloadIsShed(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const most = 64
	w := startWith(t, 1, func(_ int, c *node.Config) { c.Limits.MaxInFlight = most }).web(0)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * most}}
	ask := func(method, path, body string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, w.base+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return nil
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return nil
		}
		resp.Body.Close()
		return resp
	}
	var waiting sync.WaitGroup
	var mu sync.Mutex
	answers := map[int]int{}
	full := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return answers[http.StatusServiceUnavailable] > 0
	}
	for range 2 * most { // each waits two seconds for an index that does not come, until all wait at once
		waiting.Go(func() {
			for !full() && t.Context().Err() == nil {
				resp := ask("POST", "/v1/recall", `{"query":"x","min_index":1000000000}`)
				if resp == nil {
					return
				}
				mu.Lock()
				answers[resp.StatusCode]++
				mu.Unlock()
				if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
					t.Error("503 without Retry-After")
				}
			}
		})
	}
	suite.Eventually(t, "the node is full", full)
	if resp := ask("GET", "/v1/health", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("health of a node that is full: %d", resp.StatusCode)
	}
	waiting.Wait()
	if answers[http.StatusPreconditionFailed] < most/2 || answers[http.StatusServiceUnavailable] == 0 {
		t.Errorf("answers by status: %v", answers)
	}
	if resp := ask("GET", "/v1/stats", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d", resp.StatusCode)
	}
}

// TestHeadersHaveAnEnd checks that a client with an unfinished or endless header is disconnected.
func TestHeadersHaveAnEnd(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	w := start(t, 1).web(0)
	dial := func() net.Conn {
		nc, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		if err := nc.SetDeadline(time.Now().Add(suite.Patience)); err != nil {
			t.Fatal(err)
		}
		return nc
	}
	slow, long := dial(), dial()
	began := time.Now()
	fmt.Fprint(slow, "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	go func() { // until the node has had enough
		for _, err := fmt.Fprint(long, "GET /v1/health HTTP/1.1\r\nHost: localhost\r\n"); err == nil; {
			_, err = fmt.Fprintf(long, "X-Long: %s\r\n", strings.Repeat("x", 4096))
		}
	}()
	if line, err := bufio.NewReader(long).ReadString('\n'); err == nil && !strings.Contains(line, "431") {
		t.Errorf("a header without an end: %q", line)
	}
	if _, err := slow.Read(make([]byte, 1)); err == nil {
		t.Error("a header that is not finished was answered")
	} else if took := time.Since(began); took < 5*time.Second || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("cut off after %s: %v", took, err)
	}
}
