package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/wire/client"
)

// cairn is the binary whose processes a bench starts.
type cairn struct{ path string }

// flag adds the flag that names it.
func (b *cairn) flag(c *cobra.Command) {
	c.Flags().StringVar(&b.path, "cairn", "", "the cairn to measure; without it one is built from this source tree")
}

// binary returns its path, and builds it if no flag names one.
func (b *cairn) binary(ctx context.Context, l *bench.Rig) (string, error) {
	if b.path != "" {
		return b.path, nil
	}
	dir, err := l.Dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "cairn")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/cairndb/cairn/cmd/cairn").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// A process is a node that a bench starts as a process of cairn, and may end and start again.
type process struct {
	exe  string
	args []string
	log  io.Writer // gets its stderr; nil: discarded
	cmd  *exec.Cmd
	line cli.Ready // its ready line
}

// launch starts the node; the channel gets nil when the node serves, or the reason why it does not.
func (p *process) launch(ctx context.Context) (up chan error) {
	up = make(chan error, 1)
	p.cmd = exec.CommandContext(ctx, p.exe, p.args...)
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		up <- err
		return up
	}
	go func() { // ends with the node's line, or the node
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &p.line)
		}
		if err != nil {
			err = fmt.Errorf("the node did not become ready: %w", err)
		}
		up <- err
	}()
	return up
}

// end sends the node a signal and waits for its end. A node that exits with a failure is an error, except after
// SIGKILL.
func (p *process) end(sig syscall.Signal) error {
	if p.cmd == nil || p.cmd.Process == nil {
		return nil
	}
	cmd := p.cmd
	p.cmd = nil
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := cmd.Wait(); sig != syscall.SIGKILL {
		return err
	}
	return nil // a process that is killed fails
}

// devNode is `cairn dev` in a directory of its own, with all its surfaces.
type devNode struct {
	process
	home, token string
}

// dev starts one and waits until it serves. Its errors go to stderr.
func (b *cairn) dev(ctx context.Context, l *bench.Rig) (*devNode, error) {
	exe, err := b.binary(ctx, l)
	if err != nil {
		return nil, err
	}
	dir, err := l.Dir()
	if err != nil {
		return nil, err
	}
	base, err := config.FreeRow(10)
	if err != nil {
		return nil, err
	}
	n := &devNode{process: process{exe: exe}, home: filepath.Join(dir, "h")}
	n.args, n.log = []string{"dev", "--home", n.home, "--port-base", strconv.Itoa(base), "--log-level", "error"}, os.Stderr
	l.OnClose(func() error { return n.end(syscall.SIGTERM) })
	if err := <-n.launch(ctx); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(n.home, "token"))
	n.token = strings.TrimSpace(string(raw))
	return n, err
}

// client names the node to a client.
func (n *devNode) client() client.Config {
	return client.Config{Addrs: []string{n.line.Wire}, Token: n.token}
}

// A trio is a cluster of three processes.
type trio struct {
	token string
	nodes []*process
}

// trio starts one and waits until all three serve.
func (b *cairn) trio(ctx context.Context, l *bench.Rig, edit func(*config.NodeFile)) (*trio, error) {
	exe, err := b.binary(ctx, l)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(l.Err, "starting three nodes")
	dir, err := l.Dir()
	if err != nil {
		return nil, err
	}
	base, err := config.FreeRow(3 * config.PortsEach)
	if err != nil {
		return nil, err
	}
	c := &trio{token: home.NewSecret()}
	files, err := config.WriteHere(dir, 3, base, c.token, func(n *config.NodeFile) error { n.Master = true; edit(n); return nil })
	if err != nil {
		return nil, err
	}
	var ups []chan error
	for _, path := range files {
		n := &process{exe: exe, args: []string{"serve", "--config", path, "--log-level", "error"}}
		l.OnClose(func() error { return n.end(syscall.SIGKILL) })
		c.nodes, ups = append(c.nodes, n), append(ups, n.launch(ctx))
	}
	for _, up := range ups {
		if err := <-up; err != nil {
			return nil, err
		}
	}
	return c, nil
}

// client names some of the nodes to a client.
func (c *trio) client(nodes ...*process) client.Config {
	cfg := client.Config{Token: c.token}
	for _, n := range nodes {
		cfg.Addrs = append(cfg.Addrs, n.line.Wire)
	}
	return cfg
}

// wholeIn bounds how long three nodes may take until they are equal.
const wholeIn = 2 * time.Minute

// whole waits until all three are at the same index or close to it, and says which one leads.
func (c *trio) whole(ctx context.Context) (leader int, err error) {
	for limit := time.Now().Add(wholeIn); time.Now().Before(limit) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		leader = -1
		good := 0
		for i, n := range c.nodes {
			var st api.ClusterStatus
			t := &cli.Target{Endpoints: []string{n.line.HTTP}, TokenText: c.token, Timeout: 5 * time.Second}
			if err = t.Cluster(ctx, &st); err != nil {
				break
			}
			if st.Healthy && st.Lag != nil && *st.Lag < 100 && st.LeaderID != nil {
				good++
			}
			if st.LeaderID != nil && *st.LeaderID == st.NodeID {
				leader = i
			}
		}
		if good == len(c.nodes) && leader >= 0 {
			return leader, nil
		}
	}
	return 0, cmp.Or(ctx.Err(), err, errors.New("the cluster did not become whole again"))
}
