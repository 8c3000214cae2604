package sift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

func TestKeys(t *testing.T) {
	for _, c := range [][3]string{{"/home/u/proj", "", "9c09f8055a26"}, {"/home/u/proj", "svc", "940423a5354a"},
		{"/", "", "8a5edab28263"}} {
		if got := Key(c[0], c[1]); got != c[2] {
			t.Errorf("%v: %s", c, got)
		}
	}
}

func TestFind(t *testing.T) {
	dir, err := filepath.EvalSymlinks(shortDir(t))
	if err != nil {
		t.Fatal(err)
	}
	repo, deep := filepath.Join(dir, "repo"), filepath.Join(dir, "repo", "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	find := func(dir, sub string) Workspace {
		w, err := FindWorkspace(context.Background(), dir, sub)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if w := find(deep, ""); w.Key != Key(deep, "") || w.Dir != deep {
		t.Errorf("without a repository: %+v", w)
	}
	if out, err := exec.Command("git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("git: %v %s", err, out)
	}
	if w := find(deep, ""); w.Key != Key(repo, "") || w.Dir != deep || w.Top != repo {
		t.Errorf("in a repository: %+v", w)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(repo, link); err != nil {
		t.Fatal(err)
	}
	if w := find(link, ""); w.Key != Key(repo, "") {
		t.Errorf("by a link: %+v", w)
	}
	if w := find(repo, " svc "); w.Key != Key(repo, "svc") {
		t.Errorf("a subspace: %+v", w)
	}
	os.MkdirAll(filepath.Join(repo, ".siftcoder"), 0o700)
	os.WriteFile(filepath.Join(repo, ".siftcoder", "subspace"), []byte("api\nmore\n"), 0o600)
	if w := find(deep, ""); w.Key != Key(repo, "api") {
		t.Errorf("a subspace from the file: %+v", w)
	}
	for _, ns := range []string{"", ".", "..", "a/b", "a b", strings.Repeat("x", 65)} {
		if CheckNS(ns) == nil {
			t.Errorf("namespace %q is taken", ns)
		}
	}
}

func TestFilesOfAWorkspace(t *testing.T) {
	d := start(t, nil)
	key := keyOf(d)
	for path, mode := range map[string]os.FileMode{d.socket: 0o600, filepath.Dir(d.socket): 0o700, d.cfg.Home: 0o700,
		ControlSocket(d.cfg.Home): 0o600} {
		if i, err := os.Stat(path); err != nil || i.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, i.Mode(), err)
		}
	}
	pid := d.cfg.files(key, filePid)
	if b, _ := os.ReadFile(pid); strings.TrimSpace(string(b)) != fmt.Sprint(os.Getpid()) {
		t.Errorf("run.pid holds %q", b)
	}
	port := d.cfg.files(key, filePort)
	if err := os.WriteFile(port, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := d.ask(`{"kind":"shutdown"}`); got["ok"] != true || got["stopping"] != true {
		t.Error(got)
	}
	suite.Eventually(t, "its files are gone", func() bool {
		_, a := os.Stat(d.socket)
		_, b := os.Stat(pid)
		_, c := os.Stat(port)
		return a != nil && b != nil && c != nil
	})
	if d.serve(d.dir) != d.socket {
		t.Error("it cannot be served again")
	}
	d.ask(`{"kind":"ping"}`)
}

func TestShutdownStops(t *testing.T) {
	stopped := make(chan struct{})
	d := start(t, func(c *Config) { c.Stop = func() { close(stopped) } })
	d.ask(`{"kind":"shutdown","workspaceOnly":true}`)
	suite.Eventually(t, "the workspace is not served", func() bool { _, err := os.Stat(d.socket); return err != nil })
	select {
	case <-stopped:
		t.Error("the end of a workspace stopped the node")
	default:
	}
	d.serve(d.dir)
	d.ask(`{"kind":"shutdown"}`)
	<-stopped
	no := start(t, func(c *Config) { c.Memory.Also = nil })
	if got := no.refused(`{"kind":"shutdown"}`); got != "shutdown is not allowed on this node" {
		t.Error(got)
	}
	no.ask(`{"kind":"ping"}`)
}

func TestControlSocket(t *testing.T) {
	d := start(t, nil)
	control, dir := ControlSocket(d.cfg.Home), shortDir(t)
	got := d.askOn(control, fmt.Sprintf(`{"kind":"open","path":%q}`, dir))
	if again := d.askOn(control, fmt.Sprintf(`{"kind":"open","path":%q}`, dir)); again["socket"] != got["socket"] {
		t.Errorf("%v, then %v", got, again)
	}
	d.askOn(got["socket"].(string), `{"kind":"ping"}`)
	if all := d.askOn(control, `{"kind":"workspaces"}`)["workspaces"].([]any); len(all) != 2 {
		t.Error(all)
	}
	for _, bad := range []string{`{"kind":"open","path":"/no/such"}`, `{"kind":"open"}`, `{"kind":"capture"}`} {
		if _, err := Call(t.Context(), control, json.RawMessage(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	// After a restart, both are served again.
	cfg := d.cfg
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(got["socket"].(string)); err == nil {
		t.Error("the socket outlives the server")
	}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d.askOn(got["socket"].(string), `{"kind":"ping"}`)
	d.ask(`{"kind":"ping"}`)
}

// TestClaiming: a stale socket is replaced, but not the socket of a live daemon, nor a file of another kind.
func TestClaiming(t *testing.T) {
	d := start(t, nil)
	dir := shortDir(t)
	w, err := FindWorkspace(context.Background(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	socket := Socket(d.cfg.Home, d.cfg.NS, w.Key)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	os.MkdirAll(filepath.Dir(d.cfg.files(w.Key, filePid)), 0o700)
	os.WriteFile(d.cfg.files(w.Key, filePid), []byte("999999999"), 0o600)
	if d.serve(dir) != socket {
		t.Fatal("a stale socket is in the way")
	}
	// A second server on the same home finds a live pid that answers.
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	os.WriteFile(d.cfg.files(w.Key, filePid), fmt.Appendf(nil, "%d", other.Process.Pid), 0o600)
	if err := d.checkNoDaemon(w.Key, socket); err == nil ||
		err.Error() != fmt.Sprintf("daemon already running for this workspace (pid=%d); refusing to start a second instance",
			other.Process.Pid) {
		t.Errorf("a living daemon: %v", err)
	}
	if _, err := Open(d.cfg); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second server in one home: %v", err)
	}
	third := shortDir(t)
	w3, _ := FindWorkspace(context.Background(), third, "")
	os.WriteFile(Socket(d.cfg.Home, d.cfg.NS, w3.Key), []byte("mine"), 0o600)
	if _, err := d.Serve(w3); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a plain file: %v", err)
	}
	if b, _ := os.ReadFile(Socket(d.cfg.Home, d.cfg.NS, w3.Key)); string(b) != "mine" {
		t.Error("the file is gone")
	}
}

// TestUnlinkedSocketIsMadeAnew: another daemon's start unlinks a socket without a check. The socket is created again.
func TestUnlinkedSocketIsMadeAnew(t *testing.T) {
	d := start(t, nil)
	if err := os.Remove(d.socket); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "it answers again", func() bool { return daemonAnswers(d.socket) })
	d.ask(sample)
}

// TestAPathThatCannotBeClaimed: a directory of sockets that is gone is made again, and a path that is taken by a file
// is logged once, until it is free.
func TestAPathThatCannotBeClaimed(t *testing.T) {
	d := start(t, nil)
	if err := os.RemoveAll(filepath.Dir(d.socket)); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "it answers again", func() bool { return daemonAnswers(d.socket) })
	other := d.serve(shortDir(t))
	if err := errors.Join(os.Remove(d.socket), os.WriteFile(d.socket, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 4 { // looks at the paths
		if err := os.Remove(other); err != nil {
			t.Fatal(err)
		}
		suite.Eventually(t, "the other one answers again", func() bool { return daemonAnswers(other) })
	}
	if n := strings.Count(d.log.String(), "socket not claimed"); n != 1 {
		t.Errorf("%d lines in the log", n)
	}
	if err := os.Remove(d.socket); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "it answers again", func() bool { return daemonAnswers(d.socket) })
}

// TestAClosedListenerClaimsNothing: a listener that is closed between its check of the path and the claim leaves no
// socket.
func TestAClosedListenerClaimsNothing(t *testing.T) {
	d := start(t, nil)
	key := keyOf(d)
	l := d.serving[key]
	if err := d.Stop(key); err != nil {
		t.Fatal(err)
	}
	if err := l.claim(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.socket); err == nil {
		t.Error("there is a socket on which no server answers")
	}
}

func TestPathTooLong(t *testing.T) {
	home := filepath.Join(shortDir(t), strings.Repeat("x", 90))
	_, err := Open(Config{Home: home, Memory: api.At{Host: newStore(t)}})
	if !errors.Is(err, serve.ErrPathTooLong) || !strings.Contains(err.Error(), home) {
		t.Error(err)
	}
}

// TestSharedName: two workspaces with the same name share their memories.
func TestSharedName(t *testing.T) {
	a, b := shortDir(t), shortDir(t)
	wa, _ := FindWorkspace(context.Background(), a, "")
	wb, _ := FindWorkspace(context.Background(), b, "")
	d := start(t, func(c *Config) { c.Names = map[string]string{"default/" + wa.Key: "team", "default/" + wb.Key: "team"} })
	d.askOn(d.serve(a), note("s", 1, "the staging cluster is blue"))
	if got := ids(d.askOn(d.serve(b), `{"kind":"search","query":"staging"}`)["hits"]); len(got) != 1 {
		t.Error(got)
	}
	if got := ids(d.ask(`{"kind":"search","query":"staging"}`)["hits"]); len(got) != 0 {
		t.Error(got)
	}
}

// TestWhatTouchesTheHostIsNamed: without the scopes for git and files, a client can open no directory, and no
// transcript or earlier daemon's file is read. Operations on memories still work.
func TestWhatTouchesTheHostIsNamed(t *testing.T) {
	t.Parallel()
	d := start(t, func(cfg *Config) { cfg.Memory.Also = nil })
	for socket, request := range map[string]string{ControlSocket(d.cfg.Home): fmt.Sprintf(`{"kind":"open","path":%q}`, t.TempDir()),
		d.socket: `{"kind":"backfill"}`} {
		if _, err := Call(t.Context(), socket, json.RawMessage(request)); err == nil ||
			!strings.Contains(err.Error(), "not allowed on this node") {
			t.Errorf("%s: %v", request, err)
		}
	}
	if _, err := Call(t.Context(), d.socket, json.RawMessage(`{"kind":"import_home","home":"/"}`)); err == nil ||
		!strings.Contains(err.Error(), "not allowed on this node") {
		t.Errorf("import_home: %v", err)
	}
	if r := d.ask(`{"kind":"capture","sessionId":"s","tool":"T","payload":1}`); r["duplicate"] != false {
		t.Errorf("capture: %v", r)
	}
}

// TestASubspaceOfAPipeIsNone: a subspace file that is a pipe or a link to a terminal is ignored, without waiting.
func TestASubspaceOfAPipeIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, ".siftcoder", "subspace")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	go func() {
		w, err := FindWorkspace(t.Context(), dir, "")
		found <- w.Key + fmt.Sprint(err)
	}()
	select {
	case got := <-found:
		if real, err := filepath.EvalSymlinks(dir); err != nil || got != Key(real, "")+"<nil>" {
			t.Errorf("%s, %v", got, err)
		}
	case <-time.After(suite.Patience):
		if w, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			w.Close() // ends a waiting reader
		}
		t.Error("it waits for the pipe")
	}
}
