package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/debug"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/suite"
)

// raw returns the bytes of an HTTP request.
func raw(r request, host string, head []string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s",
		r.Method, r.Path, host, len(r.Body), strings.Join(append(head, ""), "\r\n"), r.Body)
}

// maxAnswerTime bounds the time for which a client reads an endless answer, such as a stream that the node should have
// rejected.
const maxAnswerTime = 20 * time.Second

// roundTrip sends a request from this process and returns the answer.
func roundTrip(t *testing.T, addr, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(maxAnswerTime))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(c) // an error may follow the answer
	return string(b)
}

// roundTripAs sends a request from a process of another user and returns the answer, or "" if the process ends at once.
func roundTripAs(t *testing.T, uid uint32, addr, request string, goes bool) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	script := `exec 3<>/dev/tcp/$1/$2; printf %s "$3" >&3; `
	if !goes {
		script += "exec cat <&3"
	}
	ctx, cancel := context.WithTimeout(t.Context(), maxAnswerTime)
	defer cancel()
	c := exec.CommandContext(ctx, "/bin/bash", "-c", script, "bash", host, port, request)
	c.Dir, c.Env = "/", []string{"PATH=" + os.Getenv("PATH")}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil && len(out) == 0 { // after an answer the connection may be reset, because the node did not read the body
		t.Fatalf("%v: %s", err, errs.String())
	}
	return string(out)
}

// asUser runs f with the rights of another user, on a thread that keeps these rights and ends with f.
func asUser(t *testing.T, uid int, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(done)
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETGROUPS, 0, 0, 0); e != 0 {
			done <- e
			return
		}
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
			done <- e
			return
		}
		f()
	}()
	if err := <-done; err != nil {
		t.Fatalf("become uid %d: %v", uid, err)
	}
}

func rootOnly(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: nothing can be done as another user")
	}
}

// startTargetNode returns a dev node with everything enabled, in a home that another user can reach, with an agent
// and a webhook.
func startTargetNode(t *testing.T) (p *cairntest.Node, home, webhook string) {
	t.Helper()
	above := shortDir(t)
	if err := os.Chmod(above, 0o755); err != nil {
		t.Fatal(err)
	}
	home = filepath.Join(above, "h")
	p = cairntest.StartDevIn(t, home)
	stringPost(t, p, "/agents", `{"agent_id":"e2e"}`)
	res, err := http.Get(p.Line.String + "/agents/e2e/webhook")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var w struct {
		URL string `json:"webhook_url"`
	}
	if err := json.NewDecoder(res.Body).Decode(&w); err != nil || w.URL == "" {
		t.Fatalf("webhook: %v", err)
	}
	return p, home, strings.TrimPrefix(w.URL, p.Line.String)
}

// A request is an attack over HTTP from this host.
type request struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   string `json:"body"`
}

// requests returns the attacks, by dialect. Each would leave a mark or reveal data.
func requests(webhook, mark string) map[string][]request {
	run := "touch " + mark
	return map[string][]request{
		"string": {
			{"GET", "/health", ""},
			{"GET", "/describe", ""},
			{"GET", "/agents", ""},
			{"GET", "/agents/e2e/webhook", ""},
			{"GET", "/events/stream", ""},
			{"POST", "/agents", `{"agent_id":"evil","allowed_paths":["/"]}`},
			{"POST", "/exec", fmt.Sprintf(`{"cmd":"/exec %s"}`, run)},
			{"POST", "/exec", fmt.Sprintf(`{"cmd":%q,"topic":"bash:x"}`, run)},
			{"POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"string","arguments":{"topic":"main","cmd":"/exec %s"}}}`, run)},
			{"POST", webhook, "an event"},
			{"DELETE", "/agents/e2e", ""},
			{"OPTIONS", "/exec", ""},
			{"POST", "/shutdown", "{}"},
		},
		"covenant": {
			{"GET", "/health", ""},
			{"GET", "/version", ""},
			{"GET", "/memory/recent", ""},
			{"POST", "/intent", `{"text":"evil"}`},
			{"OPTIONS", "/intent", ""},
		},
	}
}

// checkUnharmed checks that none of the requests had an effect.
func checkUnharmed(t *testing.T, p *cairntest.Node, home, mark string, auditBefore int) {
	t.Helper()
	if _, err := os.Lstat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program ran: %v", err)
	}
	res, err := http.Get(p.Line.String + "/agents")
	if err != nil {
		t.Fatalf("the node is gone: %v\n%s", err, p.Log)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || strings.Contains(string(b), "evil") || !strings.Contains(string(b), `"e2e"`) {
		t.Errorf("agents: %s %v", b, err)
	}
	if events, _ := filepath.Glob(filepath.Join(home, "run", "string", "agents", "e2e", "events", "*.json")); len(events) > 0 {
		t.Errorf("events in the inbox: %v", events)
	}
	if n := auditRows(t, home); n != auditBefore {
		t.Errorf("%d rows in Covenant's audit log, %d before", n, auditBefore)
	}
}

func auditRows(t *testing.T, home string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(home, "run", "covenant", "audit", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// TestHostileNeighbours sends requests to the HTTP dialects from a page of a foreign origin, from a rebound host
// name, and from another user of the host. They must be rejected, run nothing, reveal nothing, and be recorded
// nowhere. The same requests of the node's own user must be accepted, as must those of another user with the token.
func TestHostileNeighbours(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p, home, webhook := startTargetNode(t)
	mark := filepath.Join(shortDir(t), "mark")
	covenantAsked[json.RawMessage](t, covenantOf(t, p), map[string]any{"kind": "ping"}) // wait until the operator of the Covenant dialect is stored
	before := auditRows(t, home)
	at := map[string]string{"string": strings.TrimPrefix(p.Line.String, "http://"),
		"covenant": strings.TrimPrefix(p.Line.CovenantHTTP, "http://")}
	token := fileText(t, filepath.Join(home, "string.token"))
	operator := fileText(t, filepath.Join(home, "run", "covenant", "peers", "operator.token"))
	for _, n := range []struct {
		name, host string // "": the listener's own
		head       []string
		uid        int // 0: that of this process
		goes       bool
		want       string
	}{
		{name: "a foreign origin", head: []string{"Origin: http://evil.example"}, want: "Origin not allowed: http://evil.example"},
		{name: "a foreign origin on this host", head: []string{"Origin: http://127.0.0.1:9"}, want: "Origin not allowed"},
		{name: "an origin of a file", head: []string{"Origin: null"}, want: "Origin not allowed: null"},
		{name: "a foreign origin that knows the tokens",
			head: []string{"Origin: http://evil.example", "Authorization: Bearer " + token}, want: "Origin not allowed"},
		{name: "an image on a foreign page", head: []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"},
			want: "Origin not allowed: cross-site"},
		{name: "an image on another user's page", head: []string{"Sec-Fetch-Site: same-site"}, want: "Origin not allowed: same-site"},
		{name: "a foreign host", host: "evil.example", want: "Host not allowed: evil.example"},
		{name: "a rebound name", host: "rebound.example:80",
			head: []string{"Origin: http://rebound.example:80", "Sec-Fetch-Site: same-origin"},
			want: "Host not allowed: rebound.example:80"},
		{name: "another user", uid: nobodyID, want: "Not your node: connect as uid 0"},
		{name: "another user with a wrong token", uid: nobodyID,
			head: []string{"Authorization: Bearer " + strings.Repeat("0", len(token))}, want: "Not your node"},
		{name: "another user who says otherwise", uid: nobodyID,
			head: []string{"X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "X-Real-Ip: 127.0.0.1"}, want: "Not your node"},
		{name: "another user who goes at once", uid: nobodyID, goes: true},
	} {
		t.Run(n.name, func(t *testing.T) {
			if n.uid != 0 {
				rootOnly(t)
			}
			for dialect, addr := range at {
				for _, r := range requests(webhook, mark)[dialect] {
					request := raw(r, cmp.Or(n.host, addr),
						append([]string{"X-Agent-Id: e2e", "Content-Type: application/json"}, n.head...))
					got := ""
					if n.uid == 0 {
						got = roundTrip(t, addr, request)
					} else {
						got = roundTripAs(t, uint32(n.uid), addr, request, n.goes)
					}
					head, body, _ := strings.Cut(got, "\r\n\r\n")
					if !n.goes && (!strings.HasPrefix(head, "HTTP/1.1 403 ") || !strings.Contains(body, n.want) ||
						strings.Contains(head, "Access-Control-")) {
						t.Errorf("%s %s %s: %.300s", dialect, r.Method, r.Path, got)
					}
				}
			}
			checkUnharmed(t, p, home, mark, before)
		})
	}
	t.Run("another user with the token", func(t *testing.T) {
		rootOnly(t)
		for where, secret := range map[string]string{"string": token, "covenant": operator} {
			got := roundTripAs(t, nobodyID, at[where],
				raw(request{"GET", "/health", ""}, at[where], []string{"Authorization: Bearer " + secret}), false)
			if !strings.HasPrefix(got, "HTTP/1.1 200 ") {
				t.Errorf("%s: %.300s", where, got)
			}
		}
	})
	t.Run("the node's user", func(t *testing.T) {
		for dialect, addr := range at {
			for _, r := range requests(webhook, mark)[dialect] {
				if r.Path == "/events/stream" || r.Path == "/shutdown" || r.Method == "DELETE" { // these do not end, or would break later requests
					continue
				}
				if got := roundTrip(t, addr,
					raw(r, addr, []string{"X-Agent-Id: e2e", "Content-Type: application/json"})); strings.HasPrefix(got, "HTTP/1.1 403 ") {
					t.Errorf("%s %s %s: %.300s", dialect, r.Method, r.Path, got)
				}
			}
		}
		if _, err := os.Lstat(mark); err != nil {
			t.Errorf("the requests do nothing when they are let in: %v", err)
		}
	})
}

// TestSocketsAndFilesAreTheUsersOwn checks that another user can open neither sockets nor secrets of a node, even if
// only their own modes protect them.
func TestSocketsAndFilesAreTheUsersOwn(t *testing.T) {
	t.Parallel()
	rootOnly(t)
	p, homeDir, _ := startTargetNode(t)
	workspace := siftOpenAt(t, homeDir, shortDir(t))
	if err := filepath.WalkDir(homeDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o755)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	asUser(t, nobodyID, func() {
		for _, socket := range []string{p.Line.Process, p.Line.Covenant, p.Line.Sift, workspace,
			filepath.Join(homeDir, "run", "siftcoder", "control.sock"), filepath.Join(homeDir, "run", debug.Socket)} {
			if _, err := os.Lstat(socket); err != nil {
				t.Errorf("%s: %v: the test looks at nothing", socket, err)
			}
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err == nil {
				err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket})
				syscall.Close(fd)
			}
			if !errors.Is(err, syscall.EACCES) {
				t.Errorf("connect to %s: %v, want permission denied", socket, err)
			}
		}
		for _, file := range []string{"token", home.SecretFile, "string.token", "process.token",
			"run/covenant/peers/operator.token", "run/covenant/identity/local.key", "run/covenant/audit/events.jsonl",
			"run/string/daemon/agents.json"} {
			if _, err := os.ReadFile(filepath.Join(homeDir, file)); !errors.Is(err, syscall.EACCES) {
				t.Errorf("read %s: %v, want permission denied", file, err)
			}
		}
	})
}

// TestPlantedHome checks that a node does not start in a home that another user created or may enter, and says what
// to do, and that it does not follow a link that was planted in its own home. A command must not use another user's
// home in the working directory.
func TestPlantedHome(t *testing.T) {
	t.Parallel()
	refused := func(dir, want string) {
		t.Helper()
		p := &cairntest.Node{T: t, Args: []string{"dev", "--home", dir, "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))}}
		t.Cleanup(p.Kill)
		p.Launch()
		p.ExpectFailure(want)
	}
	above := shortDir(t)
	open := filepath.Join(above, "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o755)); err != nil {
		t.Fatal(err)
	}
	refused(open, "chmod 700 "+open)

	own := filepath.Join(above, "own")
	victim := filepath.Join(above, "victim")
	if err := errors.Join(os.Mkdir(own, 0o700), os.WriteFile(victim, []byte("precious"), 0o600),
		os.Symlink(victim, filepath.Join(own, "addrs.json")),
		os.Symlink(victim, filepath.Join(own, "addrs.json.new"))); err != nil {
		t.Fatal(err)
	}
	p := cairntest.StartDevIn(t, own)
	if got := fileText(t, victim); got != "precious" {
		t.Errorf("a linked file is %q now", got)
	}
	p.Kill()
	key := filepath.Join(own, "node.key")
	if err := errors.Join(os.Rename(key, victim), os.Symlink(victim, key)); err != nil {
		t.Fatal(err)
	}
	refused(own, "is a link")

	rootOnly(t)
	planted := filepath.Join(above, "cairn-data")
	if err := errors.Join(os.Mkdir(planted, 0o700), os.Chown(planted, nobodyID, nobodyID),
		os.WriteFile(filepath.Join(planted, "token"), []byte("ydb_planted"), 0o600)); err != nil {
		t.Fatal(err)
	}
	refused(planted, fmt.Sprintf("belongs to uid %d", nobodyID))
	c := cairntest.Command(t.Context(), "remember", "a secret")
	c.Dir = above
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), fmt.Sprintf("belongs to uid %d", nobodyID)) {
		t.Errorf("remember beside a planted home: %v, %s", err, out)
	}
}
