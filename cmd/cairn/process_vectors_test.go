package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/local/process"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// vectorToken is the token of every server in the vectors.
const vectorToken = " a token with spaces "

// TestProcessVectors replays recorded requests against the process surface and compares its answers byte by byte, in
// three forms: in this process, as a separate program, and in a node.
//
// A vector is a JSON object on a line: a name, preparatory steps, one request, and the expected answer. Steps are "#
// text", "sh: script", which runs in a fresh directory, "rpc: line", which is sent and waits for its answer, "exit:
// id" and "frame: id", which wait for a frame of a process, and "conn: new". ${D} is the directory, ${TOK} the token,
// and ${U} a prefix for ids. The expected answer is a line, "re:" and a pattern, CLOSED, or a list of lines that
// arrive in this order, possibly with others in between.
func TestProcessVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/process/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(t *testing.T, dir string) (socket string){"alone": listenAlone,
		"program": startProgram, "node": startNode} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "alone" {
				suite.Full(t)
			}
			replayVectors(t, raw, open)
		})
	}
}

func listenAlone(t *testing.T, dir string) (socket string) {
	socket = filepath.Join(dir, "s")
	s, err := process.Listen(process.Config{Socket: socket, Token: vectorToken, SpillDir: dir,
		Door: api.At{Host: process.Alone, Also: process.AllScopes}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { // like the program, which closes its server when it stops
		<-s.Done()
		s.Close()
		close(ended)
	}()
	t.Cleanup(func() { s.Close(); <-ended })
	return socket
}

func startProgram(t *testing.T, dir string) (socket string) {
	socket = filepath.Join(dir, "s")
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(vectorToken+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := cairntest.Run(t, "process", "-serve", "-socket", socket, "-token-file", file); code != 0 ||
		!strings.Contains(out, socket) {
		t.Fatalf("exit %d, %q", code, out)
	}
	t.Cleanup(func() {
		stop := cairntest.Command(context.Background(), "process", "-stop", "-socket", socket)
		stop.Env = append(stop.Env, "CLAUDE_RPC_TOKEN="+vectorToken)
		if out, err := stop.CombinedOutput(); err != nil ||
			!suite.Within(suite.Patience, func() bool { _, err := os.Lstat(socket); return err != nil }) {
			t.Errorf("stop: %v, %q", err, out)
		}
	})
	return socket
}

func startNode(t *testing.T, dir string) (socket string) {
	if err := os.WriteFile(filepath.Join(dir, "process.token"), []byte(vectorToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := cairntest.StartDevIn(t, dir)
	if !strings.HasPrefix(p.Line.Process, dir) {
		t.Fatalf("ready line: %+v", p.Line)
	}
	return p.Line.Process
}

type recording struct {
	Name    string          `json:"name"`
	Setup   []string        `json:"setup"`
	Request string          `json:"request"`
	Expect  json.RawMessage `json:"expect"`
}

// replayVectors replays all vectors. open starts a server for a vector that may end it; the others share one.
func replayVectors(t *testing.T, raw []byte, open func(t *testing.T, dir string) (socket string)) {
	fresh := func(t *testing.T) string {
		dir, err := os.MkdirTemp("", "h") // the path of a socket must be short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		return open(t, dir)
	}
	shared := fresh(t)
	for in := bufio.NewScanner(bytes.NewReader(raw)); in.Scan(); {
		var v recording
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		t.Run(v.Name, func(t *testing.T) {
			socket := shared
			if strings.HasPrefix(v.Name, "shutdown-") {
				socket = fresh(t)
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			r := &replay{t: t, socket: socket, dir: dir, unique: v.Name + "-"}
			r.dial()
			for _, step := range v.Setup {
				r.step(r.fill(step))
			}
			r.send(r.fill(v.Request))
			r.expect(v.Expect)
			r.nc.Close()
		})
	}
}

// A replay is the state of replaying a vector.
type replay struct {
	t                   *testing.T
	socket, dir, unique string
	nc                  net.Conn
	lines               *bufio.Reader
	seen                []string
}

func (r *replay) fill(s string) string {
	return strings.NewReplacer("${D}", r.dir, "${TOK}", vectorToken, "${U}", r.unique).Replace(s)
}

func (r *replay) dial() {
	r.t.Helper()
	nc, err := net.Dial("unix", r.socket)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(suite.Patience)); err != nil {
		r.t.Fatal(err)
	}
	r.nc, r.lines, r.seen = nc, bufio.NewReaderSize(nc, 1<<20), nil
}

func (r *replay) send(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.nc, line+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replay) next() string {
	r.t.Helper()
	line, err := r.lines.ReadString('\n')
	if err != nil {
		r.t.Fatalf("%v; received so far: %q", err, r.seen)
	}
	line = strings.TrimSuffix(line, "\n")
	r.seen = append(r.seen, line)
	return line
}

func isFrame(line string) bool { return strings.HasPrefix(line, `{"type":"stream"`) }

func (r *replay) step(step string) {
	r.t.Helper()
	kind, rest, _ := strings.Cut(step, ": ")
	switch {
	case strings.HasPrefix(step, "#"):
	case kind == "sh":
		c := exec.Command("/bin/sh", "-c", rest)
		c.Dir = r.dir
		c.Env = append(os.Environ(), "LC_ALL=C")
		if out, err := c.CombinedOutput(); err != nil {
			r.t.Fatalf("%s: %v\n%s", rest, err, out)
		}
	case kind == "rpc":
		r.send(rest)
		r.await(func(l string) bool { return !isFrame(l) })
	case kind == "exit":
		r.await(func(l string) bool {
			return isFrame(l) && strings.Contains(l, `"processId":"`+rest+`","stream":"exit"`)
		})
	case kind == "frame":
		r.await(func(l string) bool { return isFrame(l) && strings.Contains(l, `"processId":"`+rest+`"`) })
	case step == "conn: new":
		r.nc.Close()
		r.dial()
	default:
		r.t.Fatalf("unknown step %q", step)
	}
}

// await waits for a line, among those received before and then the next ones. It removes the line and keeps the
// others, because a process may answer before the server acknowledges the request.
func (r *replay) await(want func(string) bool) {
	r.t.Helper()
	i := slices.IndexFunc(r.seen, want)
	for i < 0 {
		if want(r.next()) {
			i = len(r.seen) - 1
		}
	}
	r.seen = slices.Delete(r.seen, i, i+1)
}

func (r *replay) matches(want, line string) bool {
	pattern, isPattern := strings.CutPrefix(want, "re:")
	if !isPattern {
		return r.fill(want) == line
	}
	pattern = strings.NewReplacer("${D}", regexp.QuoteMeta(r.dir), "${U}", regexp.QuoteMeta(r.unique)).Replace(pattern)
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(line)
}

func (r *replay) expect(raw json.RawMessage) {
	r.t.Helper()
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		r.seen = nil
		for _, want := range list {
			for !r.matches(want, r.next()) {
			}
		}
		return
	}
	var want string
	if err := json.Unmarshal(raw, &want); err != nil {
		r.t.Fatal(err)
	}
	if want == "CLOSED" {
		b, err := io.ReadAll(r.lines)
		if len(b) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
			r.t.Errorf("got %q, %v", b, err)
		}
		return
	}
	line := r.next()
	for isFrame(line) {
		line = r.next()
	}
	if !r.matches(want, line) {
		r.t.Errorf("got  %s\nwant %s", line, r.fill(want))
	}
}
