// Package conformance replays recorded requests against a process server and compares its answers byte by byte.
//
// A vector is a JSON object on a line: a name, steps that set the scene, one request, and what is expected. Steps are
// "# text", "sh: script" run in a fresh directory, "rpc: line" sent and waited for, "exit: id" and "frame: id" waiting
// for a process's frames, and "conn: new". ${D} is the directory, ${TOK} the token, ${U} a prefix for ids. Expected is
// one line, "re:" and a pattern, CLOSED, or a list of lines that arrive in this order, others between them.
//
// Only tests import it: those of the stand-alone program, and those of a node.
package conformance

import (
	"bufio"
	"bytes"
	_ "embed"
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
)

//go:embed vectors.jsonl
var vectors []byte

// patience bounds every wait.
const patience = 2 * time.Minute

type vector struct {
	Name    string          `json:"name"`
	Setup   []string        `json:"setup"`
	Request string          `json:"request"`
	Expect  json.RawMessage `json:"expect"`
}

// Run replays all vectors. open starts a server for one that may end it and returns its socket; others share one.
func Run(t *testing.T, token string, open func(t *testing.T) (socket string)) {
	shared := open(t)
	for in := bufio.NewScanner(bytes.NewReader(vectors)); in.Scan(); {
		var v vector
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		t.Run(v.Name, func(t *testing.T) {
			socket := shared
			if strings.HasPrefix(v.Name, "shutdown-") {
				socket = open(t)
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			r := &run{t: t, socket: socket, dir: dir, token: token, unique: v.Name + "-"}
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

type run struct {
	t                          *testing.T
	socket, dir, token, unique string
	nc                         net.Conn
	lines                      *bufio.Reader
	seen                       []string
}

func (r *run) fill(s string) string {
	return strings.NewReplacer("${D}", r.dir, "${TOK}", r.token, "${U}", r.unique).Replace(s)
}

func (r *run) dial() {
	r.t.Helper()
	nc, err := net.Dial("unix", r.socket)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	r.nc, r.lines, r.seen = nc, bufio.NewReaderSize(nc, 1<<20), nil
}

func (r *run) send(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.nc, line+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) next() string {
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

func (r *run) step(step string) {
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

// await looks at what came already, then at what comes. It takes the line away and leaves the others: a process may
// answer before the server has answered for it.
func (r *run) await(want func(string) bool) {
	r.t.Helper()
	i := slices.IndexFunc(r.seen, want)
	for i < 0 {
		if want(r.next()) {
			i = len(r.seen) - 1
		}
	}
	r.seen = slices.Delete(r.seen, i, i+1)
}

func (r *run) matches(want, line string) bool {
	pattern, isPattern := strings.CutPrefix(want, "re:")
	if !isPattern {
		return r.fill(want) == line
	}
	pattern = strings.NewReplacer("${D}", regexp.QuoteMeta(r.dir), "${U}", regexp.QuoteMeta(r.unique)).Replace(pattern)
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(line)
}

func (r *run) expect(raw json.RawMessage) {
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
