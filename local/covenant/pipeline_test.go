package covenant_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

func TestManyOneShotClients(t *testing.T) {
	t.Parallel()
	d := start(t)
	token := d.token()
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			c, err := net.Dial("unix", d.Socket())
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			defer c.Close()
			cl := &client{t, c}
			if _, err := c.Write(append(frameOf(fmt.Sprintf(`{"kind":"authenticate","token_b58":%q}`, token)),
				frameOf(`{"kind":"ping"}`)...)); err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			if a, p := string(cl.recv()), string(cl.recv()); !strings.Contains(a, "authenticated") || p != pong {
				t.Errorf("client %d: %s, %s", i, a, p)
			}
		})
	}
	wg.Wait()
}

// pipeline sends n pings without waiting and reads the answers in order.
func pipeline(t testing.TB, c *client, n int) time.Duration {
	t.Helper()
	var b []byte
	for range n {
		b = append(b, frameOf(`{"kind":"ping"}`)...)
	}
	began := time.Now()
	go c.Write(b)
	for i := range n {
		if got := string(c.recv()); got != pong {
			t.Fatalf("reply %d: %s", i, got)
		}
	}
	return time.Since(began)
}

// TestPipelinedPings requires five thousand pings in less than a second. On a busy machine, it compares them with a
// loop that echoes the same frames.
func TestPipelinedPings(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const n = 5000
	c := start(t).operator()
	var took, bare time.Duration
	for range 5 {
		took = pipeline(t, c, n)
		if bare = echoed(t, n); took < max(time.Second, 20*bare) {
			t.Logf("%d pings in %s, echoes in %s", n, took, bare)
			return
		}
	}
	t.Errorf("%d pings took %s, echoes %s", n, took, bare)
}

// echoed returns the time of n frames through an echo loop.
func echoed(t *testing.T, n int) time.Duration {
	t.Helper()
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	f := frameOf(`{"kind":"ping"}`)
	began := time.Now()
	go func() {
		defer s.Close()
		buf := make([]byte, len(f))
		for range n {
			if _, err := io.ReadFull(s, buf); err != nil {
				return
			}
			if _, err := s.Write(buf); err != nil {
				return
			}
		}
	}()
	go c.Write(bytes.Repeat(f, n))
	if got, err := io.Copy(io.Discard, c); err != nil || got != int64(n*len(f)) {
		t.Fatalf("%d bytes, %v", got, err)
	}
	return time.Since(began)
}

func BenchmarkPipelinedPings(b *testing.B) {
	c := start(b).operator()
	for b.Loop() {
		pipeline(b, c, 5000)
	}
	b.ReportMetric(5000*float64(b.N)/b.Elapsed().Seconds(), "pings/s")
}
