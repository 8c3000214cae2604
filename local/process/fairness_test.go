package process_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/local/process"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// A client with many waiting requests still gets answers to others.
func TestManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	p.sh("p", "trap '' TERM; echo up; cat")
	p.await("up", func(l line) bool { return string(l.Data) == "up\n" })
	var waiting []int
	for range 300 {
		waiting = append(waiting, p.ask("process.killAndWait", map[string]any{"id": "p", "timeoutMs": 60_000}))
	}
	if got := p.call("server.ping", nil); got != `{"pong":true}` {
		t.Fatal(got)
	}
	if got := connect(t, socket).call("process.killAndWait", killed("p")); got != `{"found":true,"died":true}` {
		t.Fatal(got)
	}
	for i, id := range waiting {
		if l := p.answer(id); !strings.HasPrefix(string(l.Result), `{"found":true,"died":true`) { // or with alreadyExited
			t.Fatalf("%d: %s", id, l.Result)
		}
		if i == 0 && !sawExit(p.seen, "p") {
			t.Error("the answer came before the exit frame")
		}
	}
}

func sawExit(lines []line, id string) bool {
	for _, l := range lines {
		if l.ProcessID == id && l.Stream == "exit" {
			return true
		}
	}
	return false
}

// Of concurrent spawns of one id, one process keeps the id. The others leave nothing behind.
func TestConcurrentSpawnsOfOneID(t *testing.T) {
	t.Parallel()
	socket, _ := listen(t)
	var all sync.WaitGroup
	pids := make(chan int, 16)
	for range cap(pids) {
		all.Go(func() {
			var r struct{ Pid int }
			got := connect(t, socket).call("process.spawn",
				map[string]any{"id": "p", "command": "sleep", "args": []string{"1000"}, "wantPid": true})
			if err := unmarshal([]byte(got), &r); err != nil || r.Pid == 0 {
				t.Errorf("%s: %v", got, err)
			}
			pids <- r.Pid
		})
	}
	all.Wait()
	close(pids)
	p := connect(t, socket)
	var r struct{ Pid int }
	if err := unmarshal([]byte(p.call("process.reattach", map[string]any{"id": "p", "wantPid": true})), &r); err != nil {
		t.Fatal(err)
	}
	for pid := range pids {
		if pid != r.Pid {
			goneSoon(t, pid)
		} else if err := syscall.Kill(-pid, 0); err != nil {
			t.Errorf("the one that has the id: %v", err)
		}
	}
}

// goneSoon waits until a process group is empty.
func goneSoon(t testing.TB, group int) {
	t.Helper()
	suite.Eventually(t, fmt.Sprintf("group %d to end", group), func() bool { return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) })
}

// A spawn that runs while the server stops leaves no process behind.
func TestSpawnsWhileTheServerStops(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "pids")
	for range 10 {
		socket, s := listen(t)
		warm := connect(t, socket)
		warm.sh("warm", "true")
		var all sync.WaitGroup
		started := make(chan struct{}, 8)
		for i := range cap(started) {
			all.Go(func() {
				p := connect(t, socket)
				for n := 0; ; n++ {
					if n >= 50 { // enough; now wait for the end of the connection
						if _, err := p.receive(); err != nil {
							return
						}
						continue
					}
					script := "echo $$ >>" + mark + "; exec sleep 1000"
					if _, err := io.WriteString(p.nc,
						request(1, "process.spawn",
							map[string]any{"id": fmt.Sprint(i, "-", n), "command": "/bin/sh", "args": []string{"-c", script}})); err != nil {
						return
					}
					if _, err := p.receive(); err != nil {
						return
					}
					if n == 0 {
						started <- struct{}{}
					}
				}
			})
		}
		for range cap(started) {
			<-started
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	}
	b, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(string(b)) {
		var pid int
		if _, err := fmt.Sscan(f, &pid); err != nil {
			t.Fatal(err)
		}
		goneSoon(t, pid)
	}
}

// Clients that send without end and read nothing take turns with other clients that send much. They give up their
// turn when there is no room for more answers.
func TestWhoReadsNothingLeavesHisTurn(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	socket, _ := listen(t)
	pings := strings.Repeat(request(1, "server.ping", map[string]any{}), 1000)
	var floods sync.WaitGroup
	for range runtime.GOMAXPROCS(0)/4 + 1 {
		p := connect(t, socket)
		floods.Go(func() {
			for {
				if err := p.nc.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
					t.Error(err)
				}
				if _, err := io.WriteString(p.nc, pings); err != nil {
					if !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	floods.Wait()
	p := connect(t, socket)
	go func() {
		if _, err := io.WriteString(p.nc, pings); err != nil {
			t.Error(err)
		}
	}()
	for range 1000 {
		if _, err := p.receive(); err != nil {
			t.Fatal(err)
		}
	}
}

// If frames are dropped before a client has received them, its connection ends. So a client never misses frames
// unnoticed.
func TestDroppedFramesCutTheSlowReaderOff(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	s, err := process.Listen(process.Config{Socket: socket, Token: token, SpillDir: t.TempDir(),
		Door: api.At{Host: process.Alone, Also: process.AllScopes}, Replay: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	lazy := connect(t, socket)
	lazy.write(request(1, "process.spawn",
		map[string]any{"id": "p", "command": "/bin/sh", "args": []string{"-c", "head -c 200000000 /dev/zero; read line"}}))
	for first := 1; first <= 1; { // until the child has written more than is kept
		p := connect(t, socket) // a new connection each time, because it gets frames that it does not read
		var r struct{ FirstSeq int }
		if err := unmarshal([]byte(p.call("process.reattach", map[string]any{"id": "p", "fromSeq": 1 << 40})), &r); err != nil {
			t.Fatal(err)
		}
		p.nc.Close()
		first = max(1, r.FirstSeq)
	}
	for last := 0; ; {
		l, err := lazy.receive()
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if l.Type != "stream" {
			continue
		}
		if l.Seq != last+1 {
			t.Fatalf("frame %d follows frame %d", l.Seq, last)
		}
		last = l.Seq
	}
}
