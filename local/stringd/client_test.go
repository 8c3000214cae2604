package stringd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/node/api"
)

// daemon is a server under test, with a client that follows the checklist of the protocol.
type daemon struct {
	t    testing.TB
	s    *stringd.Server
	url  string
	dir  string
	http *http.Client
}

// start starts a daemon on a free port with real storage. The agent a is registered.
func start(t testing.TB, edit func(*stringd.Config)) *daemon {
	t.Helper()
	dir := t.TempDir()
	cfg := stringd.Config{Addr: "127.0.0.1:0", Data: filepath.Join(dir, "daemon"), Agents: filepath.Join(dir, "agents"), Home: dir,
		Roots: []string{dir}, Memory: api.At{Host: newStorage(t), Also: []api.Scope{api.Programs, api.Files, api.Stop}},
		Version: "test", Ping: time.Hour}
	if edit != nil {
		edit(&cfg)
	}
	s, err := stringd.Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, s: s, url: "http://" + s.Addr(), dir: dir, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	t.Cleanup(func() { d.http.CloseIdleConnections(); s.Close() })
	d.do("POST", "/agents", `{"agent_id":"a"}`)
	return d
}

// home returns the path of a file in the home of the agent a.
func (d *daemon) home(path ...string) string {
	return filepath.Join(append([]string{d.dir, "agents", "a"}, path...)...)
}

// answer is a complete response.
type answer struct {
	status int
	body   string
	header http.Header
}

// do sends a request. Headers have the form "name: value".
func (d *daemon) do(method, path, body string, headers ...string) answer {
	d.t.Helper()
	a, err := d.try(d.t.Context(), method, path, body, headers...)
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

func (d *daemon) try(ctx context.Context, method, path, body string, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		if k == "Host" {
			req.Host = v
		}
		req.Header.Set(k, v)
	}
	res, err := d.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, string(b), res.Header}, err
}

// outcome is a decoded answer to /exec.
type outcome struct {
	OK      bool
	Code    string
	Content string // without its first line
	Meta    map[string]any
}

// exec runs a command for the agent a.
func (d *daemon) exec(topic, cmd string) outcome {
	d.t.Helper()
	o, err := d.tryExec(d.t.Context(), topic, cmd)
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}

func (d *daemon) tryExec(ctx context.Context, topic, cmd string) (outcome, error) {
	b, err := json.Marshal(map[string]string{"cmd": cmd, "topic": topic})
	if err != nil {
		return outcome{}, err
	}
	a, err := d.try(ctx, "POST", "/exec", string(b), "X-Agent-Id: a", "Content-Type: application/json")
	if err != nil {
		return outcome{}, err
	}
	if a.status != 200 {
		return outcome{Code: fmt.Sprint("HTTP_", a.status), Content: a.body}, nil
	}
	return readEvents(a.body)
}

// readEvents reads the three events. A stream without the done event is an error.
func readEvents(stream string) (o outcome, err error) {
	var head struct {
		OK   bool
		Code *string
		Meta map[string]any
	}
	done, name := false, ""
	for sc := bufio.NewScanner(bytes.NewReader([]byte(stream))); ; {
		sc.Buffer(nil, 64<<20)
		for sc.Scan() {
			line := sc.Text()
			if n, ok := strings.CutPrefix(line, "event: "); ok {
				name = n
			}
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			switch name {
			case "head":
				err = json.Unmarshal([]byte(data), &head)
			case "content":
				var s string
				err = json.Unmarshal([]byte(data), &s)
				_, o.Content, _ = strings.Cut(s, "\n")
			case "done":
				done = true
			}
			if err != nil {
				return o, err
			}
		}
		if err := sc.Err(); err != nil {
			return o, err
		}
		break
	}
	if !done {
		return outcome{Code: "STREAM_INCOMPLETE"}, nil
	}
	o.OK, o.Meta = head.OK, head.Meta
	if head.Code != nil {
		o.Code = *head.Code
	}
	return o, nil
}

// ok runs a command that must succeed.
func (d *daemon) ok(topic, cmd string) string {
	d.t.Helper()
	o := d.exec(topic, cmd)
	if !o.OK {
		d.t.Fatalf("%s: %s %s", cmd, o.Code, o.Content)
	}
	return o.Content
}

// fails runs a command that must fail with a code.
func (d *daemon) fails(topic, cmd, code string) string {
	d.t.Helper()
	o := d.exec(topic, cmd)
	if o.OK || o.Code != code {
		d.t.Fatalf("%s: got ok=%v %s %s, want %s", cmd, o.OK, o.Code, o.Content, code)
	}
	return o.Content
}

// has fails if the text lacks one of the parts.
func has(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, text)
		}
	}
}
