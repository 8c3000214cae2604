package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAProjectBehindALink: a project's record applies to its directory, through any links, and the innermost
// project's record wins.
func TestAProjectBehindALink(t *testing.T) {
	t.Parallel()
	base, real := filepath.Join(t.TempDir(), "connect"), t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	inner := filepath.Join(real, "services", "api")
	if err := os.MkdirAll(filepath.Join(inner, "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for _, project := range []string{"", link, inner} {
		r := &record{Tool: "claude", Project: project, dir: base, Entries: []writtenEntry{{File: "/f", Format: "file"}}}
		if err := r.save(); err != nil {
			t.Fatal(err)
		}
	}
	for cwd, want := range map[string]string{
		real: link, link: link, filepath.Join(real, "services"): link, filepath.Join(link, "gone"): link,
		inner: inner, filepath.Join(inner, "src"): inner, filepath.Join(link, "services", "api", "src"): inner,
		real + "-other": "", "/": "",
	} {
		if r, err := connectedRecord(base, claude(), cwd); err != nil || r.Project != want {
			t.Errorf("in %s: %+v, %v; want the record of %q", cwd, r, err, want)
		}
	}
}

// controlSocket serves a home's control socket and rejects every directory. It counts the requests by path.
func controlSocket(t *testing.T, home string) (asked func() map[string]int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(home, "run", "siftcoder"), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(home, "run", "siftcoder", "control.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	var mu sync.Mutex
	count := map[string]int{}
	go func() {
		frames := serve.Format{Max: 1 << 20}
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			var q struct {
				Path string `json:"path"`
			}
			if b, err := frames.Read(c, nil); err == nil && json.Unmarshal(b, &q) == nil {
				mu.Lock()
				count[q.Path]++
				mu.Unlock()
				_ = frames.Write(c, []byte(`{"ok":false,"error":"open: path must be a directory of this host"}`)) // the client looks at it
			}
			c.Close()
		}
	}()
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

// TestACaptureWaitsForItsProject: a project's node does not receive captures of another project. It gets one request
// about a missing directory, however many captures are from there.
func TestACaptureWaitsForItsProject(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	asked := controlSocket(t, u.node)
	base, secret, gone := filepath.Join(u.home, "connect"), filepath.Join(u.home, "secret"), filepath.Join(u.project, "gone")
	r := &record{Tool: "claude", Endpoint: "http://127.0.0.1:1", Home: u.node, dir: base, Entries: []writtenEntry{{File: "/f", Format: "file"}}}
	other := &record{Tool: "claude", Project: secret, Endpoint: "http://127.0.0.1:2", Home: filepath.Join(u.home, "other"),
		dir: base, Entries: r.Entries}
	for _, r := range []*record{r, other} {
		if err := r.save(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		for _, dir := range []string{secret, gone} {
			if err := r.spool().add(capture{Session: "s", Tool: "Bash", Source: "claude", Dir: dir, At: int64(i),
				Payload: "p"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.sendSpooled(t.Context(), time.Minute); err != nil || r.spool().count() != 40 {
		t.Errorf("%v, %d wait", err, r.spool().count())
	}
	if got := fmt.Sprint(asked()); got != fmt.Sprint(map[string]int{gone: 1}) {
		t.Errorf("the node was asked about %s", got)
	}
}

// TestAnotherNodeAnotherToken: a tool that is connected to another node gets a token from that node, and a new token
// if the node rejects the old one. A project connected to another node has its own token.
func TestAnotherNodeAnotherToken(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	first := cairntest.StartDevIn(t, u.node)
	second := filepath.Join(u.home, "second")
	cairntest.StartDevIn(t, second)
	token := filepath.Join(u.home, ".config", "cairn", "connect", "claude.token")
	bearer := func() string {
		t.Helper()
		b, err := os.ReadFile(token)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + string(b)
	}
	known := func(when string) {
		t.Helper()
		if said := u.hook("SessionStart", ""); strings.Contains(said, "unreachable") {
			t.Errorf("%s: %s", when, said)
		}
	}
	u.must("", "connect", "claude", "--home", u.node, "--yes")
	old := bearer()
	u.must("", "connect", "claude", "--home", second, "--yes")
	known("at another node")
	if code := statusOf(t, first, old); code != http.StatusUnauthorized {
		t.Errorf("the node that was left answers the token with %d", code)
	}
	if err := os.WriteFile(token, []byte("of a node that is no more"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.must("", "connect", "claude", "--home", second, "--yes")
	known("with a new token")
	mine := bearer()
	u.must("", "connect", "claude", "--home", u.node, "--project", ".", "--yes")
	known("in a project at another node")
	u.must("", "connect", "claude", "--home", u.node, "--project", ".", "--undo", "--yes")
	if bearer() != mine {
		t.Error("the project changed the user's token")
	}
	known("after the project")
	u.must("", "connect", "claude", "--home", second, "--undo", "--yes")
	if left := tree(t, filepath.Join(u.home, ".config")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestATokenIsRevokedWhereItIs: a tool's token is revoked with a token of its node, not with one of the node that the
// environment or the current context names.
func TestATokenIsRevokedWhereItIs(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	first := cairntest.StartDevIn(t, u.node)
	second := filepath.Join(u.home, "second")
	cairntest.StartDevIn(t, second)
	other, err := os.ReadFile(filepath.Join(second, "token"))
	if err != nil {
		t.Fatal(err)
	}
	revoked := func(how string, args ...string) {
		t.Helper()
		old, err := os.ReadFile(filepath.Join(u.home, "connect", "claude.token"))
		if err != nil {
			t.Fatal(err)
		}
		_, said, _ := u.run("", append([]string{"connect", "claude", "--yes"}, args...)...)
		if code := statusOf(t, first, "Bearer "+string(old)); code != http.StatusUnauthorized {
			t.Errorf("%s: the node answers the token with %d: %s", how, code, said)
		}
	}
	u.env = append(u.env, "CAIRN_CONTEXTS="+filepath.Join(u.home, "contexts.json"))
	u.must("", "context", "add", "prod", "--endpoints", "127.0.0.1:1", "--token-file", filepath.Join(second, "token"))
	u.must("", "context", "use", "prod")
	u.must("", "connect", "claude", "--home", u.node, "--yes")
	revoked("undone, with another node as the current context", "--undo")
	at := []string{"--endpoints", first.Line.HTTP, "--token-file", filepath.Join(u.node, "token")}
	u.must("", append([]string{"connect", "claude", "--yes"}, at...)...)
	revoked("undone, with the endpoint given", append(at, "--undo")...)
	u.must("", append([]string{"connect", "claude", "--yes"}, at...)...)
	if _, said, _ := u.run("", "connect", "claude", "--yes", "--undo"); !strings.Contains(said, "no token for that node") {
		t.Errorf("an endpoint's connection undone, with another node as the current context: %s", said)
	}
	u.must("", "connect", "claude", "--home", u.node, "--yes")
	u.env = append(u.env, "CAIRN_TOKEN="+strings.TrimSpace(string(other)))
	revoked("moved, with the token of the other node in the environment", "--home", second)
}

// TestADisconnectedProjectsCapturesGo: disconnecting a project removes its waiting captures, so that the user's node
// does not receive them. Captures for the user's node stay.
func TestADisconnectedProjectsCapturesGo(t *testing.T) {
	t.Parallel()
	base, project, elsewhere := filepath.Join(t.TempDir(), "connect"), t.TempDir(), t.TempDir()
	user := &record{Tool: "claude", dir: base, Home: t.TempDir(), Entries: []writtenEntry{{File: "/f", Format: "file"}}}
	r := &record{Tool: "claude", Project: project, Home: t.TempDir(), Own: true, dir: base, Entries: user.Entries}
	for _, r := range []*record{user, r} {
		if err := r.save(); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{project, elsewhere, project} {
		if err := r.spool().add(capture{Session: "s", Tool: "Bash", Dir: dir, Payload: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	tool, _ := findTool("claude")
	if err := new(options).disconnect(t.Context(), &cli.Streams{Err: io.Discard}, tool, r, &plan{}); err != nil {
		t.Fatal(err)
	}
	if waits := fmt.Sprint(tree(t, string(user.spool()))); user.spool().count() != 1 || !strings.Contains(waits, elsewhere) {
		t.Errorf("there waits %s", waits)
	}
}

// TestACaptureKeepsItsSubspace: a spooled capture is stored in the subspace of the hook that captured it, whatever
// the subspace of the hook that sends it.
func TestACaptureKeepsItsSubspace(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	p := cairntest.StartDevIn(t, u.node)
	u.must("", "connect", "claude", "--home", u.node, "--yes")
	p.Kill()
	in := *u
	in.env = append(slices.Clone(u.env), "SIFTCODER_SUBSPACE=api")
	in.hook("PostToolUse", used("make test", "three tests are red"))
	p.Launch()()
	s := spool(filepath.Join(u.home, ".config", "cairn", "connect", "claude.spool"))
	suite.Eventually(t, "an empty spool", func() bool { u.hook("SessionEnd", ""); return s.count() == 0 })
	in.shows("three tests are red")
	if known := u.hook("SessionStart", ""); strings.Contains(known, "three tests") {
		t.Errorf("another subspace is told %s", known)
	}
}

// TestUndoSaysWhatIsLost: --undo reports the waiting captures before it asks, and --dry-run reports and keeps them.
func TestUndoSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	p := cairntest.StartDevIn(t, u.node)
	u.must("", "connect", "claude", "--home", u.node, "--yes")
	p.Kill()
	u.hook("PostToolUse", used("make test", "red"))
	u.hook("Stop", `,"last_assistant_message":"The time zone."`)
	s := spool(filepath.Join(u.home, ".config", "cairn", "connect", "claude.spool"))
	for _, how := range []string{"--dry-run", "--yes"} {
		if n := s.count(); n != 2 {
			t.Fatalf("before %s, %d wait", how, n)
		}
		if _, said, code := u.run("", "connect", "claude", "--undo", how); code != 0 ||
			!strings.Contains(said, "2 captures wait for the node at ") {
			t.Errorf("%s: exit %d, %s", how, code, said)
		}
	}
	if s.count() != 0 {
		t.Error("they wait on")
	}
}
