package process_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

func TestLineLimits(t *testing.T) {
	t.Parallel()
	socket, _ := listen(t)
	ping := strings.TrimSuffix(request(1, "server.ping", struct{}{}), "\n")
	fill := func(n int) string { return ping[:len(ping)-1] + `,"x":"` + strings.Repeat("a", n-len(ping)-7) + `"}` }
	for _, c := range []struct {
		empty  string
		length int
		end    string
		served bool
	}{
		{"", 1048575, "\n", true}, {"", 1048576, "\n", false}, {"", 1048574, "\r\n", true}, {"", 1048575, "\r\n", false},
		{"", 1048575, "", true}, {"", 1048576, "", false}, {"\n\r\n\n", 1048575, "\n", true}, {"\n", 1048576, "\n", false},
	} {
		p := connect(t, socket)
		body := fill(c.length)
		if len(body) != c.length {
			t.Fatalf("made %d bytes, not %d", len(body), c.length)
		}
		_, werr := io.WriteString(p.nc, c.empty+body+c.end)
		if c.end == "" {
			p.nc.(*net.UnixConn).CloseWrite()
		}
		l, err := p.receive()
		if served := err == nil && string(l.Result) == `{"pong":true}`; served != c.served {
			t.Errorf("%q, %d bytes and %q: served %v (%v, %v)", c.empty, c.length, c.end, served, werr, err)
		}
	}
	p := connect(t, socket)
	p.write("\n\r\n")
	if got := p.call("server.ping", nil); got != `{"pong":true}` {
		t.Errorf("after empty lines: %s", got)
	}
}

// All requests for a process may be in one write.
func TestPipelinedRequestsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	var b strings.Builder
	var want strings.Builder
	b.WriteString(request(1, "process.spawn", map[string]any{"id": "p", "command": "/bin/sh", "args": []string{"-c", "head -c 600"}}))
	for i := range 100 {
		chunk := fmt.Sprintf("<%04d>", i)
		want.WriteString(chunk)
		b.WriteString(request(2+i, "process.stdin", map[string]any{"id": "p", "data": b64(chunk), "offset": 6 * i}))
	}
	p.write(b.String())
	p.next = 101
	if got := p.output("p"); got != want.String() {
		t.Errorf("the process read %q", got)
	}
	for i := range 101 {
		if l := p.answer(1 + i); l.Error != nil {
			t.Errorf("request %d: %+v", 1+i, l.Error)
		}
	}
}

func TestStdinOffsets(t *testing.T) {
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	p.sh("p", "head -c 10; exec sleep 100")
	stdin := func(data string, offset int) string {
		return p.call("process.stdin", map[string]any{"id": "p", "data": b64(data), "offset": offset})
	}
	for _, c := range []struct {
		data   string
		offset int
		want   string
	}{
		{"01234", 0, `{"success":true,"applied":5}`},
		{"01234", 0, `{"success":true,"applied":5,"duplicate":true}`},
		{"23", 2, `{"success":true,"applied":5,"duplicate":true}`},
		{"", 5, `{"success":true,"applied":5}`},
		{"", 3, `{"success":true,"applied":5,"duplicate":true}`},
		{"6", 6, "error -32003 stdin offset gap: offset ahead of applied bytes"},
		{"3456789", 3, `{"success":true,"applied":10}`},
		{"x", -1, "error -32602 Invalid params"},
	} {
		if got := stdin(c.data, c.offset); got != c.want {
			t.Errorf("%q at %d: %s, want %s", c.data, c.offset, got, c.want)
		}
	}
	got := ""
	for got != "0123456789" {
		l := p.await("output", func(l line) bool { return l.Stream == "stdout" })
		got += string(l.Data)
	}
	p.call("process.kill", map[string]any{"id": "p", "signal": "KILL"})
}

// A process that does not read delays only its own stdin.
func TestFullStdinDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	p.sh("p", "exec sleep 100")
	chunk := strings.Repeat("x", 700<<10)
	var asked []int
	for range 14 {
		asked = append(asked, p.ask("process.stdin", map[string]any{"id": "p", "data": b64(chunk)}))
	}
	if got := p.call("server.ping", nil); got != `{"pong":true}` {
		t.Fatal(got)
	}
	if got := p.call("process.killAndWait", killed("p")); got != `{"found":true,"died":true}` {
		t.Fatal(got)
	}
	refused := 0
	for _, id := range asked {
		if l := p.answer(id); l.Error != nil {
			refused++
			if l.Error.Message != "Process not running" {
				t.Errorf("refused with %q", l.Error.Message)
			}
		}
	}
	if refused == 0 || refused == len(asked) {
		t.Errorf("%d of %d refused", refused, len(asked))
	}
}

func TestWholeGroupDies(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	p.sh("p", fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 1000 & i=$((i+1)); done; echo up; wait", suite.Count(50, 50, 500)))
	p.await("up", func(l line) bool { return string(l.Data) == "up\n" })
	var r struct{ Pid int }
	if err := unmarshal([]byte(p.call("process.reattach", map[string]any{"id": "p", "fromSeq": 1, "wantPid": true})), &r); err != nil {
		t.Fatal(err)
	}
	if got := p.call("process.killAndWait", killed("p")); got != `{"found":true,"died":true}` {
		t.Fatal(got)
	}
	goneSoon(t, r.Pid)
}

// A descendant that keeps the pipes open does not delay the exit frame without limit.
func TestExitFrameIsNotHeldBack(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	p.sh("p", "sleep 1000 & echo done") // the sleep outlasts the deadline of the connection
	if l := p.exit("p"); *l.ExitCode != 0 {
		t.Errorf("exit code %d", *l.ExitCode)
	}
}

func TestIDReusedUnderFire(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	uses := 30
	if testing.Short() {
		uses = 8 // each use fills the socket buffer
	}
	for i := range uses {
		p.sh("p", fmt.Sprintf("while :; do echo %d; done", i))
		p.seen = nil // lines before the answer belong to the old process
		for range 3 {
			l := p.await("output", func(l line) bool { return l.ProcessID == "p" })
			for _, s := range strings.Fields(string(l.Data)) {
				if l.Seq == 1 && s != fmt.Sprint(i) {
					t.Fatalf("process %d wrote %q", i, s)
				}
			}
		}
	}
	p.ask("process.killAndWait", map[string]any{"id": "p", "signal": "KILL"})
	p.exit("p")
}

func TestNothingIsLeftOfManyProcesses(t *testing.T) {
	suite.Full(t)
	socket, _ := listen(t)
	p := connect(t, socket)
	p.sh("first", "true")
	p.exit("first")
	before := descriptors(t)
	for i := range suite.Count(300, 300, 10_000) {
		id := fmt.Sprint("p", i%50)
		p.sh(id, "true")
		p.exit(id)
	}
	suite.Eventually(t, fmt.Sprintf("%d descriptors again", before), func() bool { return descriptors(t) <= before+4 })
	var ws syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil); pid > 0 {
		t.Errorf("process %d was a zombie (%v)", pid, err)
	}
}

func descriptors(t *testing.T) int {
	l, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd on this system: descriptors are not counted")
	}
	return len(l)
}

func TestHalfClosedClientGetsItsAnswers(t *testing.T) {
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	p.write(request(1, "process.spawn", map[string]any{"id": "p", "command": "sleep", "args": []string{"100"}}) +
		request(2, "process.killAndWait", map[string]any{"id": "p", "timeoutMs": 2000}) + request(3, "server.ping", nil) +
		request(4, "process.reattach", map[string]any{"id": "p"}))
	p.nc.(*net.UnixConn).CloseWrite()
	for id := 1; id <= 4; id++ {
		if l := p.answer(id); l.Error != nil {
			t.Errorf("%d: %+v", id, l.Error)
		}
	}
	said := time.Now()
	for {
		if _, err := p.receive(); errors.Is(err, io.EOF) {
			if d := time.Since(said); d >= 15*time.Second { // it must close after the last answer, not after the timeout
				t.Errorf("closed after %s", d)
			}
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestManyConnections(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	socket, _ := listen(t)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			p := connect(t, socket)
			id := fmt.Sprint("p", i)
			p.sh(id, "cat")
			p.call("process.stdin", map[string]any{"id": id, "data": b64("hello")})
			l := p.await("the echo", func(l line) bool { return l.ProcessID == id && l.Stream == "stdout" })
			if string(l.Data) != "hello" {
				t.Errorf("%d: %q", i, l.Data)
			}
			if got := p.call("process.killAndWait", killed(id)); got != `{"found":true,"died":true}` {
				t.Errorf("%d: %s", i, got)
			}
		})
	}
	all.Wait()
}

func TestCloseLeavesNothing(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	socket, s := listen(t)
	p := connect(t, socket)
	p.sh("p", "trap '' TERM; sleep 1000 & wait")
	var r struct{ Pid int }
	if err := unmarshal([]byte(p.call("process.reattach", map[string]any{"id": "p", "wantPid": true})), &r); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	if err := suite.Receive(t, "a server that does not wait for its child", closed); err != nil { // the child sleeps for a thousand seconds
		t.Error(err)
	}
	if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
	goneSoon(t, r.Pid)
}

// A server whose socket was replaced by another server does not remove the new socket.
func TestSuccessorKeepsItsSocket(t *testing.T) {
	t.Parallel()
	socket, first := listen(t)
	moved := filepath.Join(filepath.Dir(socket), "moved")
	if err := os.Rename(socket, moved); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	first.Close()
	if _, err := os.Lstat(socket); err != nil {
		t.Error(err)
	}
}
