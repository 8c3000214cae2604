package cairntest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/home"
)

// Hung is how long a test waits for an answer or an end that takes a second at rest: a busy machine does not take that long.
const Hung = time.Minute

// Patient and Brisk are election timeouts, in milliseconds. Most tests go on with the leader they found, which must not fall because it was slow for a
// moment; when its process ends it is replaced at once all the same. Where leaders fall silently, a test waits that long.
const Patient, Brisk = 5000, 1000

// InHaste makes a node stand for election soon.
func InHaste(n *config.NodeFile) { n.ElectionMS = Brisk }

// Command is a call of cairn that has not started.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, Binary(), args...)
	c.Env = append(os.Environ(), AsCairn+"=1", "SHELL=/bin/sh", "CAIRN_CONTEXTS="+os.DevNull) // not the user's own
	return c
}

// FreePorts is the first of n free ports in a row, which are this test's until its end.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	g := &givenPorts
	g.Lock()
	defer g.Unlock()
	if g.m == nil {
		g.m = map[int]bool{}
	}
	for {
		base, err := config.FreeRow(n)
		if err != nil {
			t.Fatal(err)
		}
		row := make([]int, n)
		for i := range row {
			row[i] = base + i
		}
		if slices.ContainsFunc(row, func(p int) bool { return g.m[p] }) {
			continue
		}
		for _, p := range row {
			g.m[p] = true
		}
		t.Cleanup(func() {
			g.Lock()
			defer g.Unlock()
			for _, p := range row {
				delete(g.m, p)
			}
		})
		return base
	}
}

// givenPorts are those of tests that run: a node that is down leaves its own free, and starts on them again.
var givenPorts struct {
	sync.Mutex
	m map[int]bool
}

// StartDev runs `cairn dev` in a home of its own until the test ends.
func StartDev(t testing.TB) (*Node, string) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	return StartDevIn(t, home), home
}

// StartDevIn does so in a home that is given, with flags beside those of its place.
func StartDevIn(t testing.TB, home string, flags ...string) *Node {
	t.Helper()
	p := &Node{T: t, Args: append([]string{"dev", "--home", home, "--port-base", fmt.Sprint(FreePorts(t, 6))}, flags...)}
	t.Cleanup(p.Kill)
	p.Launch()()
	return p
}

// MemberAlone is a member with a peer port and no peers.
func MemberAlone(t testing.TB) *Node {
	t.Helper()
	dir := t.TempDir()
	p := &Node{T: t, Args: []string{"serve", "--strict", "--config", filepath.Join(dir, "node.toml")}, Token: home.NewSecret()}
	if err := config.Write(p.Args[3], config.NodeHere(filepath.Join(dir, "home"), 1, 1, FreePorts(t, config.PortsEach), p.Token)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	p.Launch()()
	return p
}

// Run runs a command to its end.
func Run(t testing.TB, args ...string) (stdout string, code int) {
	t.Helper()
	c := Command(t.Context(), args...)
	var errb bytes.Buffer
	c.Stderr = &errb
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code = c.ProcessState.ExitCode(); code != 0 {
		t.Logf("cairn %s: %s", strings.Join(args, " "), errb.String())
	}
	return string(out), code
}

// StartThree starts three nodes in the given order and waits until all serve.
func StartThree(t testing.TB, order ...int) (nodes []*Node, token string) {
	t.Helper()
	return StartThreeIn(t, t.TempDir(), func(*config.NodeFile) {}, order...)
}

// StartThreeIn does so below a directory, with configurations that change has had its hands on.
func StartThreeIn(t testing.TB, dir string, change func(*config.NodeFile), order ...int) (nodes []*Node, token string) {
	t.Helper()
	nodes, token = ThreeIn(t, dir, change)
	StartAll(t, nodes, order...)
	return nodes, token
}

// ThreeIn configures three nodes.
func ThreeIn(t testing.TB, dir string, change func(*config.NodeFile)) (nodes []*Node, token string) {
	t.Helper()
	return SeveralIn(t, dir, 3, change)
}

// SeveralIn configures so many nodes.
func SeveralIn(t testing.TB, dir string, of int, change func(*config.NodeFile)) (nodes []*Node, token string) {
	t.Helper()
	base := FreePorts(t, of*config.PortsEach)
	token = home.NewSecret()
	files, err := config.WriteHere(dir, of, base, token, func(n *config.NodeFile) error {
		n.ElectionMS = Patient
		change(n)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		nodes = append(nodes, &Node{T: t, Args: []string{"serve", "--strict", "--config", path}})
	}
	t.Cleanup(func() {
		for _, p := range nodes {
			p.Kill()
			if t.Failed() && p.Log != nil {
				t.Logf("%s:\n%s", p.Args[3], TailOf(p.Log.String(), 4000))
			}
		}
	})
	return nodes, token
}

// StartAll starts nodes in an order and waits until all serve.
func StartAll(t testing.TB, nodes []*Node, order ...int) {
	t.Helper()
	ups := make([]func(), len(nodes))
	for _, i := range order {
		ups[i] = nodes[i].Launch()
	}
	last := time.Now()
	for _, i := range order {
		ups[i]()
	}
	t.Logf("%d nodes serve %s after the last start", len(order), time.Since(last).Round(10*time.Millisecond))
}

// TailOf is the end of a text.
func TailOf(s string, n int) string { return s[max(0, len(s)-n):] }

// Eventually waits for what another process is about to do.
func Eventually(ok func() bool) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}

// JSONOf runs a command that prints JSON.
func JSONOf[T any](t testing.TB, args ...string) (v T) {
	t.Helper()
	out, code := Run(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); code != 0 || err != nil {
		t.Fatalf("cairn %s: exit %d, %v: %s", strings.Join(args, " "), code, err, out)
	}
	return v
}

// RunForJSON is for commands that print and fail.
func RunForJSON[T any](t testing.TB, args ...string) (v T, code int) {
	t.Helper()
	out, code := Run(t, args...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("cairn %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return v, code
}
