package process_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// A reattach from any frame returns all later frames, each once, with the answer at its place.
func TestReattachFromAnywhere(t *testing.T) {
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	p.sh("p", "i=0; while [ $i -lt 6000 ]; do echo $i; i=$((i+1)); done")
	reattaches := suite.Count(200, 200, 1000)
	froms := make(chan int, reattaches)
	for range reattaches {
		froms <- rand.IntN(100)
	}
	close(froms)
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			for from := range froms {
				if err := reattachAndRead(connect(t, socket), "p", from); err != nil {
					t.Errorf("from %d: %v", from, err)
				}
			}
		})
	}
	clients.Wait()
}

// reattachAndRead reads the frames of a process to the last one, and returns an error if they are wrong.
func reattachAndRead(q *peer, id string, from int) error {
	defer q.nc.Close()
	q.ask("process.reattach", map[string]any{"id": id, "fromSeq": from})
	seq := from
	for { // the replay
		l, err := q.receive()
		if err != nil {
			return err
		}
		if l.Type == "stream" {
			if seq++; l.Seq != seq {
				return fmt.Errorf("frame %d is replayed where %d belongs", l.Seq, seq)
			}
			continue
		}
		var r struct {
			LastSeq int
			Running bool
		}
		if err := unmarshal(l.Result, &r); err != nil {
			return err
		}
		if seq != max(from, r.LastSeq) {
			return fmt.Errorf("answered behind frame %d, says %d", seq, r.LastSeq)
		}
		if !r.Running {
			return nil // the exit frame was replayed, or comes before from
		}
		seq = r.LastSeq
		break
	}
	for {
		l, err := q.receive()
		if err != nil {
			return err
		}
		if seq++; l.Seq != seq {
			return fmt.Errorf("live frame %d where %d belongs", l.Seq, seq)
		}
		if l.Stream == "exit" {
			return nil
		}
	}
}

// A child writes more than may be kept in memory. Two clients read its output, and one does not.
func TestSlowReadersDelayNobody(t *testing.T) {
	suite.Full(t)
	socket, _ := listen(t)
	size := suite.Count(96<<20, 96<<20, 1<<30)
	if testing.Short() {
		size /= 4 // with the race detector, the full size takes most of a minute
	}
	p := connect(t, socket)
	lazy := connect(t, socket)
	p.sh("p", fmt.Sprintf("read go; head -c %d /dev/zero | tr '\\0' 'x'", size))
	lazy.ask("process.reattach", map[string]any{"id": "p"})
	read := func(q *peer) {
		h, n := sha256.New(), 0
		for {
			l, err := q.receive()
			if err != nil {
				t.Error(err)
				return
			}
			if l.Stream == "exit" {
				break
			}
			h.Write(l.Data)
			n += len(l.Data)
		}
		want := sha256.New()
		for left := size; left > 0; left -= min(left, 1<<20) {
			want.Write(bytes.Repeat([]byte{'x'}, min(left, 1<<20)))
		}
		if n != size || !bytes.Equal(h.Sum(nil), want.Sum(nil)) {
			t.Errorf("got %d bytes of %d, or other ones", n, size)
		}
	}
	second := connect(t, socket)
	second.call("process.reattach", map[string]any{"id": "p"})
	before := liveMiB()
	if got := connect(t, socket).call("process.stdin",
		map[string]any{"id": "p", "data": b64("go\n")}); got != `{"success":true,"applied":3}` {
		t.Fatal(got) // no frame can precede the answer to the second client any more
	}
	var both sync.WaitGroup
	both.Go(func() { read(p) })
	both.Go(func() { read(second) })
	both.Wait()
	if !testing.Short() {
		weigh(t, before, 64) // the output of the child is larger
	}
	if got := connect(t, socket).call("process.reattach",
		map[string]any{"id": "p", "fromSeq": 1 << 30}); !strings.Contains(got, `"firstSeq":1,`) {
		t.Errorf("the first frame is gone: %s", got)
	}
}

// weigh fails if the live heap has grown by more than most MiB since before. It does not count garbage, which depends
// on the load of the machine. It would count the memory of other tests, so a test that calls weigh is not parallel.
func weigh(t *testing.T, before, most int) {
	t.Helper()
	if grown := liveMiB() - before; grown > most {
		t.Errorf("memory grew by %d MiB", grown)
	}
}

func liveMiB() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}

// TestAnswersBehindFramesAreBounded: answers that wait for frames which their client does not read are limited like
// other answers: the server stops reading requests. When the client reads, it gets them all.
func TestAnswersBehindFramesAreBounded(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"process.killAndWait", "process.reattach"} {
		socket, _ := listen(t)
		lazy, other := connect(t, socket), connect(t, socket)
		lazy.sh("p", "head -c 6000000 /dev/zero")
		other.call("process.reattach", map[string]any{"id": "p"})
		other.exit("p")
		const lines = 40
		var sent atomic.Int32
		go func() {
			for i := range lines {
				id := fmt.Sprintf("%d %s", i, strings.Repeat("x", 900<<10))
				if _, err := fmt.Fprintf(lazy.nc,
					`{"jsonrpc":"2.0","id":%q,"method":%q,"params":{"id":"p","fromSeq":1},"auth":%q}`+"\n", id, method, token); err != nil {
					t.Error(err)
					return
				}
				sent.Add(1)
			}
		}()
		if suite.Within(2*time.Second, func() bool { return sent.Load() == lines }) {
			t.Errorf("%s: the server holds %d answers of a client that reads nothing", method, lines)
		}
		for answers := 0; answers < lines; {
			b, err := lazy.lines.ReadBytes('\n')
			if err != nil {
				t.Fatalf("%s: after %d answers: %v", method, answers, err)
			}
			if bytes.HasPrefix(b, []byte(`{"jsonrpc"`)) && bytes.Contains(b[:min(len(b), 64)], []byte(" xxx")) {
				answers++
			}
		}
	}
}
