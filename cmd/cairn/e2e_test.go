package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// asCairn in the environment makes the test binary the real thing, so that tests run real processes.
const asCairn = "CAIRN_TEST_BE_CAIRN"

// hung is how long a test waits for an answer or an end that takes a second at rest: a busy machine does not take that long.
const hung = time.Minute

// Election timeouts, in milliseconds. Most tests go on with the leader they found, which must not fall because it was slow for a
// moment; when its process ends it is replaced at once all the same. Where leaders fall silently, nobody waits for long.
const patient, brisk = 5000, 1000

func inHaste(n *nodeFile) { n.ElectionMS = brisk }

func TestMain(m *testing.M) {
	if os.Getenv(asCairn) != "" {
		main()
		return
	}
	os.Exit(rafttest.Overlap(m, 6))
}

func command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Env = append(os.Environ(), asCairn+"=1", "SHELL=/bin/sh") // not the user's own, which may do anything
	return c
}

// nodeProcess is a running node.
type nodeProcess struct {
	t    testing.TB
	args []string
	cmd  *exec.Cmd
	line readyLine
	log  *logged
	ca   string // of a node that speaks TLS

	token string // the cluster secret, of a member alone

	netns string // where it runs, if not here
	bin   string // another version's binary; empty for this one

	env  []string             // beside this process's
	attr *syscall.SysProcAttr // of another user's
}

// logged is what a process has written so far; it may be read while the process goes on.
type logged struct {
	mu sync.Mutex
	b  []byte
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

func (l *logged) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b)
}

func (l *logged) String() string { return string(l.Bytes()) }

// launch starts a node; up waits for its line.
func (p *nodeProcess) launch() (up func()) {
	p.t.Helper()
	p.cmd = command(context.Background(), p.args...)
	if p.netns != "" {
		env := p.cmd.Env
		p.cmd = exec.Command("ip", append([]string{"netns", "exec", p.netns, os.Args[0]}, p.args...)...)
		p.cmd.Env = env
	}
	if p.bin != "" {
		p.cmd.Path, p.cmd.Args[0] = p.bin, p.bin
	}
	p.cmd.Env = append(p.cmd.Env, p.env...)
	if p.attr != nil {
		p.cmd.SysProcAttr, p.cmd.Dir = p.attr, "/"
	}
	p.log = &logged{}
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	cmd := p.cmd
	return func() {
		p.t.Helper()
		guard := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
		defer guard.Stop()
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err != nil {
			p.t.Fatalf("no ready line: %v\n%s", err, p.log)
		}
		if err := json.Unmarshal(line, &p.line); err != nil || !p.line.Ready {
			p.t.Fatalf("ready line %q: %v", line, err)
		}
	}
}

// says returns when what the process has written so far, or writes soon, holds a text: what it wrote comes through a pipe.
func (p *nodeProcess) says(text string) bool {
	return eventually(func() bool { return strings.Contains(p.log.String(), text) })
}

func (p *nodeProcess) kill() {
	if p.cmd != nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		p.cmd = nil
	}
}

func (p *nodeProcess) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// stop asks politely and says how long it took; a process that hangs is killed, which is an error.
func (p *nodeProcess) stop() (time.Duration, error) {
	start := time.Now()
	p.cmd.Process.Signal(syscall.SIGTERM)
	err := p.end()
	p.cmd = nil
	return time.Since(start), err
}

// end waits for the process's end; one that hangs is killed, which is an error.
func (p *nodeProcess) end() error {
	cmd := p.cmd
	defer time.AfterFunc(hung, func() { cmd.Process.Kill() }).Stop()
	return cmd.Wait()
}

// givenPorts are those of tests that run: a node that is down leaves its own free, and starts on them again.
var givenPorts struct {
	sync.Mutex
	m map[int]bool
}

func freePorts(t testing.TB, n int) int {
	t.Helper()
	g := &givenPorts
	g.Lock()
	defer g.Unlock()
	if g.m == nil {
		g.m = map[int]bool{}
	}
	for {
		base, err := freeRow(n)
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

func startDev(t testing.TB) (*nodeProcess, string) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	return startDevIn(t, home), home
}

func startDevIn(t testing.TB, home string) *nodeProcess {
	t.Helper()
	p := &nodeProcess{t: t, args: []string{"dev", "--home", home, "--port-base", fmt.Sprint(freePorts(t, 6))}}
	t.Cleanup(p.kill)
	p.launch()()
	return p
}

// memberAlone is a member with a peer port and no peers.
func memberAlone(t testing.TB) *nodeProcess {
	t.Helper()
	dir := t.TempDir()
	p := &nodeProcess{t: t, args: []string{"serve", "--strict", "--config", filepath.Join(dir, "node.toml")}, token: node.NewSecret()}
	if err := writeConfig(p.args[3], nodeHere(filepath.Join(dir, "home"), 1, 1, freePorts(t, portsEach), p.token)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	p.launch()()
	return p
}

// cli runs a command to its end.
func cli(t testing.TB, args ...string) (stdout string, code int) {
	t.Helper()
	c := command(t.Context(), args...)
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

func TestDevFromTheShell(t *testing.T) {
	t.Parallel()
	p, home := startDev(t)
	rid, code := cli(t, "remember", "Alice leads the payments team", "--home", home)
	if code != 0 {
		t.Fatalf("exit %d", code)
	}
	out, _ := cli(t, "recall", "who leads payments?", "--home", home, "--json")
	var got recalled
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Results) != 1 || got.Results[0].RID != strings.TrimSpace(rid) {
		t.Fatalf("got %s (%v)", out, err)
	}
	if _, code := cli(t, "forget", strings.TrimSpace(rid), "--home", home); code != 0 {
		t.Errorf("forget: exit %d", code)
	}
	if _, code := cli(t, "forget", "nobody", "--home", home); code != exitFailed {
		t.Errorf("forget of nothing: exit %d", code)
	}
	if _, code := cli(t, "frobnicate"); code != exitUsage {
		t.Errorf("unknown verb: exit %d", code)
	}
	if _, err := p.stop(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, p.log)
	}
}

func TestRevokedTokenClosesItsConnection(t *testing.T) {
	t.Parallel()
	p, home := startDev(t)
	out, code := cli(t, "token", "create", "--home", home)
	if code != 0 {
		t.Fatal("no token")
	}
	token := strings.TrimSpace(out)
	c, err := client.Dial(t.Context(), client.Config{Addrs: []string{p.line.Wire}, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	gone := make(chan error, 1)
	go func() {
		gone <- c.Subscribe(t.Context(), wire.Subscribe{Events: []string{"stored"}}, func(wire.Event) error { return nil })
	}()
	if _, code := cli(t, "token", "revoke", token, "--home", home); code != 0 {
		t.Fatal("not revoked")
	}
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("the connection outlived its token")
	}
	if _, err := client.Dial(t.Context(), client.Config{Addrs: []string{p.line.Wire}, Token: token}); !client.IsCode(err, wire.CodeAuthInvalid) {
		t.Errorf("a revoked token: %v", err)
	}
}

// startThree starts three nodes in the given order and waits until all serve.
func startThree(t testing.TB, order ...int) (nodes []*nodeProcess, token string) {
	t.Helper()
	return startThreeIn(t, t.TempDir(), func(*nodeFile) {}, order...)
}

// startThreeIn does so below a directory, with configurations that change has had its hands on.
func startThreeIn(t testing.TB, dir string, change func(*nodeFile), order ...int) (nodes []*nodeProcess, token string) {
	t.Helper()
	nodes, token = threeIn(t, dir, change)
	startAll(t, nodes, order...)
	return nodes, token
}

// threeIn configures three nodes.
func threeIn(t testing.TB, dir string, change func(*nodeFile)) (nodes []*nodeProcess, token string) {
	t.Helper()
	return severalIn(t, dir, 3, change)
}

// severalIn configures so many nodes.
func severalIn(t testing.TB, dir string, of int, change func(*nodeFile)) (nodes []*nodeProcess, token string) {
	t.Helper()
	base := freePorts(t, of*portsEach)
	token = node.NewSecret()
	for i := range of {
		n := nodeHere(filepath.Join(dir, fmt.Sprint("node", i+1)), i+1, of, base, token)
		n.ElectionMS = patient
		path := filepath.Join(dir, fmt.Sprintf("node%d.toml", i+1))
		change(&n)
		if err := writeConfig(path, n); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, &nodeProcess{t: t, args: []string{"serve", "--strict", "--config", path}})
	}
	t.Cleanup(func() {
		for _, p := range nodes {
			p.kill()
			if t.Failed() && p.log != nil {
				t.Logf("%s:\n%s", p.args[3], tailOf(p.log.String(), 4000))
			}
		}
	})
	return nodes, token
}

// startAll starts nodes in an order and waits until all serve.
func startAll(t testing.TB, nodes []*nodeProcess, order ...int) {
	t.Helper()
	ups := make([]func(), len(nodes))
	for _, i := range order {
		ups[i] = nodes[i].launch()
	}
	last := time.Now()
	for _, i := range order {
		ups[i]()
	}
	t.Logf("%d nodes serve %s after the last start", len(order), time.Since(last).Round(10*time.Millisecond))
}

func tailOf(s string, n int) string { return s[max(0, len(s)-n):] }

func statusOf(t testing.TB, p *nodeProcess) (s api.ClusterStatus, ok bool) {
	t.Helper()
	tg := target{http: p.line.HTTP, ca: p.ca, timeout: 5 * time.Second}
	err := tg.get(t.Context(), "GET", "/v1/cluster", nil, &s)
	return s, err == nil
}

func leaderOf(t testing.TB, nodes []*nodeProcess) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for i, p := range nodes {
			if p.cmd == nil {
				continue
			}
			if s, ok := statusOf(t, p); ok && s.Role == "Leader" && s.LeaderID != nil {
				return i
			}
		}
	}
	t.Fatal("no leader")
	return -1
}

// TestLeadersDieAndNothingIsLost: writers write while leaders are killed, or stand still until others have led, and followers
// are restarted. Every acknowledged memory is on all nodes in the end, none twice, and the states are equal.
func TestLeadersDieAndNothingIsLost(t *testing.T) {
	t.Parallel()
	kills := leaderKills
	if testing.Short() {
		kills = 3
	}
	nodes, token := startThreeIn(t, t.TempDir(), inHaste, 2, 0, 1)
	addrs := wires(nodes)
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	acked := map[string]string{} // rid → text
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			c, err := client.Dial(t.Context(), client.Config{Addrs: addrs, Token: token})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for i := 0; ctx.Err() == nil; i++ {
				m := wire.NewRemember(fmt.Sprintf("writer %d memory %d", w, i))
				m.IdempotencyKey = fmt.Sprintf("key-%d-%d", w, i)
				rid, err := putOnce(t.Context(), c, m)
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				again := rid
				if i%20 == 0 { // the same key again gives the same memory
					if again, err = putOnce(t.Context(), c, m); err != nil {
						t.Errorf("writer %d: %v", w, err)
						return
					}
				}
				mu.Lock()
				if other, seen := acked[rid]; seen || again != rid {
					t.Errorf("%s was acknowledged as %s (%q)", m.Text, rid, other)
				}
				acked[rid] = m.Text
				mu.Unlock()
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range kills {
		l := leaderOf(t, nodes)
		if round%3 == 2 { // it wakes as a leader that does not know better
			nodes[l].signal(syscall.SIGSTOP)
			waitForWrites(t, &mu, acked, 100)
			nodes[l].signal(syscall.SIGCONT)
			waitForWrites(t, &mu, acked, 100)
			continue
		}
		nodes[l].kill()
		start := time.Now()
		leaderOf(t, nodes)
		t.Logf("a new leader after %s", time.Since(start).Round(10*time.Millisecond))
		nodes[l].launch()()
		f := (leaderOf(t, nodes) + 1 + rng.IntN(2)) % 3
		nodes[f].kill()
		nodes[f].launch()()
		waitForWrites(t, &mu, acked, 100) // every death meets writers at work
	}
	cancel()
	wg.Wait()
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, acked)
	}
	t.Logf("%d memories acknowledged across %d leaders that died or stood still", len(acked), kills)
}

// sameState returns when all nodes are where one is that leads: what was acknowledged before is there, on every one of them.
func sameState(t testing.TB, nodes []*nodeProcess) {
	t.Helper()
	if said := differing(t, nodes); said != "" {
		t.Fatalf("states differ, or there is no leader:\n%s", said)
	}
}

// differing says how the nodes' states differ, when they go on doing so.
func differing(t testing.TB, nodes []*nodeProcess) (said string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		said = ""
		states := map[string]bool{}
		all, led := true, false
		for _, p := range nodes {
			s, ok := statusOf(t, p)
			all, led = all && ok, led || s.Role == "Leader"
			said += fmt.Sprintf("node %d (%s, answers: %t) at %d: %s\n", p.line.NodeID, s.Role, ok, s.SumIndex, s.Sum)
			states[fmt.Sprint(s.SumIndex, s.Sum)] = true
		}
		if all && led && len(states) == 1 {
			return ""
		}
	}
	return said
}

// exported is what a node holds: text by id.
func exported(t testing.TB, p *nodeProcess, token string) map[string]string {
	t.Helper()
	tg := target{http: p.line.HTTP, ca: p.ca, given: token, timeout: time.Minute}
	r, err := tg.request(t.Context(), "GET", "/v1/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows := map[string]string{}
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		var row struct{ RID, Text string }
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.RID == "" { // a relation
			continue
		}
		if _, twice := rows[row.RID]; twice {
			t.Errorf("node %d has %s twice", p.line.NodeID, row.RID)
		}
		rows[row.RID] = row.Text
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func checkExport(t testing.TB, p *nodeProcess, token string, acked map[string]string) {
	t.Helper()
	rows := exported(t, p, token)
	texts := map[string]int{}
	for _, text := range rows {
		texts[text]++
	}
	for rid, text := range acked {
		if rows[rid] != text {
			t.Errorf("node %d lost %s (%q)", p.line.NodeID, rid, text)
		}
		if texts[text] != 1 {
			t.Errorf("node %d has %q %d times", p.line.NodeID, text, texts[text])
		}
	}
}
