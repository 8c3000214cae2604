package process_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// peer is a client of the tests.
type peer struct {
	t     testing.TB
	nc    net.Conn
	lines *bufio.Reader
	seen  []line // received while the test waited for another line
	next  int
}

// line is a line from the server, of any type.
type line struct {
	ID     *int
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
	Type      string
	ProcessID string `json:"processId"`
	Stream    string
	Seq       int
	Data      []byte
	ExitCode  *int `json:"exitCode"`
}

func connect(t testing.TB, socket string) *peer {
	t.Helper()
	nc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(suite.Patience)); err != nil {
		t.Fatal(err)
	}
	return &peer{t: t, nc: nc, lines: bufio.NewReaderSize(nc, 1<<20)}
}

func request(id int, method string, params any) string {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params, "auth": token})
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

func (p *peer) write(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.nc, s); err != nil {
		p.t.Fatal(err)
	}
}

// ask sends a request and returns its number.
func (p *peer) ask(method string, params any) int {
	p.t.Helper()
	p.next++
	p.write(request(p.next, method, params))
	return p.next
}

func (p *peer) receive() (line, error) {
	b, err := p.lines.ReadBytes('\n')
	if err != nil {
		return line{}, err
	}
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		p.t.Fatalf("%q: %v", b, err)
	}
	return l, nil
}

// await returns the first line that f accepts, from seen or from the connection.
func (p *peer) await(what string, f func(line) bool) line {
	p.t.Helper()
	for i, l := range p.seen {
		if f(l) {
			p.seen = append(p.seen[:i], p.seen[i+1:]...)
			return l
		}
	}
	for {
		l, err := p.receive()
		if err != nil {
			p.t.Fatalf("waiting for %s: %v", what, err)
		}
		if f(l) {
			return l
		}
		p.seen = append(p.seen, l)
	}
}

// answer waits for the answer to a request.
func (p *peer) answer(id int) line {
	p.t.Helper()
	return p.await(fmt.Sprint("answer ", id), func(l line) bool { return l.ID != nil && *l.ID == id })
}

// call sends a request and waits for the result.
func (p *peer) call(method string, params any) string {
	p.t.Helper()
	l := p.answer(p.ask(method, params))
	if l.Error != nil {
		return fmt.Sprintf("error %d %s", l.Error.Code, l.Error.Message)
	}
	return string(l.Result)
}

func (p *peer) sh(id, script string) {
	p.t.Helper()
	if got := p.call("process.spawn",
		map[string]any{"id": id, "command": "/bin/sh", "args": []string{"-c", script}}); got != `{"success":true}` {
		p.t.Fatalf("spawn %s: %s", id, got)
	}
}

// killed returns the parameters that kill a process, with a timeout that is long enough for a busy machine.
func killed(id string) map[string]any {
	return map[string]any{"id": id, "signal": "KILL", "timeoutMs": 120_000}
}

func (p *peer) exit(id string) line {
	p.t.Helper()
	return p.await("exit of "+id, func(l line) bool { return l.ProcessID == id && l.Stream == "exit" })
}

// output collects a process's stdout until its exit, and checks that seq grows by one.
func (p *peer) output(id string) string {
	p.t.Helper()
	var b strings.Builder
	for seq := 1; ; seq++ {
		l := p.await("a frame of "+id, func(l line) bool { return l.ProcessID == id })
		if l.Seq != seq {
			p.t.Fatalf("frame %d of %s where %d belongs", l.Seq, id, seq)
		}
		if l.Stream == "exit" {
			return b.String()
		}
		b.Write(l.Data)
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func unmarshal(b []byte, v any) error { return json.Unmarshal(b, v) }
