package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// soak runs three real nodes under a mixed load while they are killed and stopped at random, and says in one line
// whether anything that was acknowledged is missing, or there twice.
type soak struct {
	length  time.Duration
	clients int
	seed    uint64
	asJSON  bool

	dir, token string
	nodes      []*soakNode
	mu         sync.Mutex
	acked      map[string]string // rid → text
	twice      int
	unknown    int
	recalls    int
}

type soakNode struct {
	config string
	cmd    *exec.Cmd
	line   readyLine
}

type soakVerdict struct {
	Pass     bool    `json:"pass"`
	Seconds  float64 `json:"seconds"`
	Acked    int     `json:"acknowledged"`
	Recalls  int     `json:"recalls"`
	Kills    int     `json:"kills"`
	Stops    int     `json:"stops"`
	Lost     int     `json:"lost"`
	Twice    int     `json:"twice"`
	Unknown  int     `json:"unknown_outcomes"`
	Diverged bool    `json:"diverged"`
}

func (a *app) benchSoak() *cobra.Command {
	s := soak{acked: map[string]string{}}
	c := &cobra.Command{Use: "soak", Short: "Kill and stop nodes under load, and look for what was lost", Args: cobra.NoArgs,
		Long: `Run three real nodes on this machine under a mixed load, kill and stop them at random, and say in one line
whether every acknowledged memory is on every node once, and whether their states are equal.`,
		RunE: func(c *cobra.Command, _ []string) error {
			v, err := s.run(c.Context(), a)
			if err != nil {
				return err
			}
			if s.asJSON {
				err = a.json(v)
			} else {
				word := map[bool]string{true: "PASS", false: "FAIL"}[v.Pass]
				fmt.Fprintf(a.out, "%s: %d acknowledged writes and %d recalls in %.0f s, across %d kills and %d stops: %d lost, %d twice, %d of unknown outcome, states %s\n",
					word, v.Acked, v.Recalls, v.Seconds, v.Kills, v.Stops, v.Lost, v.Twice, v.Unknown, map[bool]string{true: "DIVERGED", false: "equal"}[v.Diverged])
			}
			if err == nil && !v.Pass {
				return exitCode(exitFailed)
			}
			return err
		}}
	c.Flags().DurationVar(&s.length, "for", 10*time.Minute, "how long")
	c.Flags().IntVar(&s.clients, "clients", 8, "how many clients")
	c.Flags().Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "of the faults")
	c.Flags().BoolVar(&s.asJSON, "json", false, "print JSON")
	return c
}

func (s *soak) run(ctx context.Context, a *app) (v soakVerdict, err error) {
	if s.dir, err = os.MkdirTemp("", "cairn-soak-"); err != nil {
		return v, err
	}
	defer func() {
		for _, n := range s.nodes {
			n.kill()
		}
		err = errors.Join(err, os.RemoveAll(s.dir))
	}()
	if err := s.start(ctx); err != nil {
		return v, err
	}
	fmt.Fprintf(a.err, "three nodes, %d clients, %s, seed %d\n", s.clients, s.length, s.seed)
	work, done := context.WithTimeout(ctx, s.length)
	defer done()
	var clients sync.WaitGroup
	for i := range s.clients {
		clients.Go(func() { s.client(work, i) })
	}
	start := time.Now()
	rng := rand.New(rand.NewPCG(s.seed, 1))
	for said := start; work.Err() == nil; {
		if err := s.fault(work, rng, &v); err != nil {
			return v, err
		}
		if time.Since(said) > 10*time.Second {
			s.mu.Lock()
			fmt.Fprintf(a.err, "  %s: %d acknowledged, %d kills, %d stops\n", time.Since(start).Round(time.Second), len(s.acked), v.Kills, v.Stops)
			s.mu.Unlock()
			said = time.Now()
		}
	}
	clients.Wait()
	v.Seconds, v.Acked, v.Recalls, v.Twice, v.Unknown = time.Since(start).Seconds(), len(s.acked), s.recalls, s.twice, s.unknown
	return v, s.judge(ctx, &v)
}

func (s *soak) start(ctx context.Context) (err error) {
	s.token = node.NewSecret()
	s.nodes, err = launchThree(ctx, s.dir, s.token, func(*nodeFile) {})
	return err
}

// launchThree starts a cluster of three processes. What was started is returned with an error, too.
func launchThree(ctx context.Context, dir, secret string, edit func(*nodeFile)) (nodes []*soakNode, err error) {
	base, err := freeRow(3 * portsEach)
	if err != nil {
		return nil, err
	}
	for i := range 3 {
		n := nodeHere(filepath.Join(dir, fmt.Sprint("node", i+1)), i+1, 3, base, secret)
		edit(&n)
		path := filepath.Join(dir, fmt.Sprintf("node%d.toml", i+1))
		if err := writeConfig(path, n); err != nil {
			return nodes, err
		}
		nodes = append(nodes, &soakNode{config: path})
	}
	lines := make([]chan error, 3)
	for i, n := range nodes {
		lines[i] = n.launch(ctx)
	}
	for _, l := range lines {
		if err := <-l; err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}

// launch starts the node; what it returns says when it serves.
func (n *soakNode) launch(ctx context.Context) chan error {
	up := make(chan error, 1)
	exe, err := os.Executable()
	if err != nil {
		up <- err
		return up
	}
	n.cmd = exec.CommandContext(ctx, exe, "serve", "--config", n.config, "--log-level", "error")
	n.cmd.Env = os.Environ()
	out, err := n.cmd.StdoutPipe()
	if err == nil {
		err = n.cmd.Start()
	}
	if err != nil {
		up <- err
		return up
	}
	go func() { // ends with the node's line, or the node
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &n.line)
		}
		up <- err
	}()
	return up
}

func (n *soakNode) kill() {
	if n.cmd != nil && n.cmd.Process != nil {
		_ = n.cmd.Process.Kill() // one that has ended already is as dead
		_ = n.cmd.Wait()
		n.cmd = nil
	}
}

// fault does one thing to one node, and mends it.
func (s *soak) fault(ctx context.Context, rng *rand.Rand, v *soakVerdict) error {
	wait := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	wait(time.Duration(500+rng.IntN(2500)) * time.Millisecond)
	if ctx.Err() != nil {
		return nil
	}
	n := s.nodes[rng.IntN(len(s.nodes))]
	if rng.IntN(3) > 0 {
		n.kill()
		v.Kills++
		wait(time.Duration(rng.IntN(1500)) * time.Millisecond)
		select {
		case err := <-n.launch(context.WithoutCancel(ctx)):
			return err
		case <-time.After(30 * time.Second):
			return errors.New("a node that was killed did not come up again within 30s")
		}
	}
	v.Stops++
	if err := n.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	wait(time.Duration(200+rng.IntN(3000)) * time.Millisecond)
	return n.cmd.Process.Signal(syscall.SIGCONT)
}

// client writes and asks until the time is up. Every write has a key, and some are asked for twice.
func (s *soak) client(ctx context.Context, who int) {
	var addrs []string
	for _, n := range s.nodes {
		addrs = append(addrs, n.line.Wire)
	}
	var c *client.Client
	for k := 0; ctx.Err() == nil; k++ {
		if c == nil {
			var err error
			if c, err = client.Dial(ctx, client.Config{Addrs: addrs, Token: s.token}); err != nil {
				c = nil
				continue
			}
			defer c.Close()
		}
		m := wire.NewRemember(fmt.Sprintf("soak writer %d memory %d", who, k))
		m.IdempotencyKey = fmt.Sprintf("soak-%d-%d", who, k)
		rid, err := s.put(ctx, c, m)
		if err != nil {
			s.note(func() { s.unknown++ })
			continue
		}
		s.note(func() {
			if _, seen := s.acked[rid]; seen {
				s.twice++
			}
			s.acked[rid] = m.Text
		})
		if k%20 != 0 {
			continue
		}
		if again, err := s.put(ctx, c, m); err == nil && again != rid {
			s.note(func() { s.twice++ })
		}
		for range 2 {
			if _, _, err := c.Recall(ctx, wire.NewRecall(m.Text)); err == nil {
				s.note(func() { s.recalls++ })
			}
		}
	}
}

func (s *soak) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *soak) put(ctx context.Context, c *client.Client, m wire.Remember) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return c.Remember(ctx, m)
}

// judge waits until the nodes are equal and reads back what each holds.
func (s *soak) judge(ctx context.Context, v *soakVerdict) error {
	v.Diverged = true
	for deadline := time.Now().Add(time.Minute); v.Diverged && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		states := map[string]bool{}
		for _, n := range s.nodes {
			var st clusterStatus
			t := target{http: n.line.HTTP, given: s.token, timeout: 5 * time.Second}
			if err := t.get(ctx, "GET", "/v1/cluster", nil, &st); err != nil {
				states[err.Error()] = true
				continue
			}
			states[fmt.Sprint(st.SumIndex, st.Sum)] = true
		}
		v.Diverged = len(states) != 1
	}
	for _, n := range s.nodes {
		have, twice, err := s.held(ctx, n)
		if err != nil {
			return err
		}
		v.Twice += twice
		for rid, text := range s.acked {
			if have[rid] != text {
				v.Lost++
			}
		}
	}
	v.Pass = v.Lost == 0 && v.Twice == 0 && !v.Diverged && v.Acked > 0
	return nil
}

// held is what a node holds, and how many texts it holds more than once.
func (s *soak) held(ctx context.Context, n *soakNode) (map[string]string, int, error) {
	t := target{http: n.line.HTTP, given: s.token, timeout: time.Minute}
	r, err := t.request(ctx, "GET", "/v1/export", nil)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	have, texts, twice := map[string]string{}, map[string]int{}, 0
	for d := json.NewDecoder(r); ; {
		var row struct{ RID, Text string }
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return have, twice, nil
		} else if err != nil {
			return nil, 0, err
		}
		have[row.RID] = row.Text
		if texts[row.Text]++; texts[row.Text] == 2 {
			twice++
		}
	}
}
