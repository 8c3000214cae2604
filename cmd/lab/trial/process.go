package trial

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

// Cairn selects the cairn binary that an experiment runs.
type Cairn struct{ path string }

// Flag adds the flag that names it.
func (b *Cairn) Flag(c *cobra.Command) {
	c.Flags().StringVar(&b.path, "cairn", "", "the cairn to measure; without it one is built from this source tree")
}

// binary returns its path, and builds it if no flag names one.
func (b *Cairn) binary(ctx context.Context, l *bench.Rig) (string, error) {
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

// A Process is a node that runs as a process of cairn. An experiment may end it and start it again.
type Process struct {
	exe  string
	args []string
	log  io.Writer // receives its stderr; nil: discarded
	cmd  *exec.Cmd
	Line cli.Ready // its ready line
}

// Signal sends the node a signal, after which it still runs.
func (p *Process) Signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// Launch starts the node. The channel receives nil once the node serves, or the error.
func (p *Process) Launch(ctx context.Context) (up chan error) {
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
	go func() { // ends with the node's ready line, or with the node
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &p.Line)
		}
		if err != nil {
			err = fmt.Errorf("the node did not become ready: %w", err)
		}
		up <- err
	}()
	return up
}

// End sends the node a signal and waits for its end. A failure of the node is an error, except after SIGKILL.
func (p *Process) End(sig syscall.Signal) error {
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
	return nil // ignore the failure of a killed process
}

// A DevNode is a process of `cairn dev` in its own directory, with all surfaces.
type DevNode struct {
	Process
	Home, Token string
}

// Dev starts a DevNode and waits until it serves. Its errors go to stderr.
func (b *Cairn) Dev(ctx context.Context, l *bench.Rig) (*DevNode, error) {
	exe, err := b.binary(ctx, l)
	if err != nil {
		return nil, err
	}
	dir, err := l.Dir()
	if err != nil {
		return nil, err
	}
	base, err := config.FreePorts(10)
	if err != nil {
		return nil, err
	}
	n := &DevNode{Process: Process{exe: exe}, Home: filepath.Join(dir, "h")}
	n.args, n.log = []string{"dev", "--home", n.Home, "--port-base", strconv.Itoa(base), "--log-level", "error"}, os.Stderr
	l.OnClose(func() error { return n.End(syscall.SIGTERM) })
	if err := <-n.Launch(ctx); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(n.Home, "token"))
	n.Token = strings.TrimSpace(string(raw))
	return n, err
}

// Client names the node to a client.
func (n *DevNode) Client() client.Config {
	return client.Config{Addrs: []string{n.Line.Wire}, Token: n.Token}
}

// A Trio is a cluster of three processes.
type Trio struct {
	Nodes []*Process
	token string
}

// Trio starts a Trio and waits until all three nodes serve.
func (b *Cairn) Trio(ctx context.Context, l *bench.Rig, edit func(*config.NodeFile)) (*Trio, error) {
	exe, err := b.binary(ctx, l)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(l.Err, "starting three nodes")
	dir, err := l.Dir()
	if err != nil {
		return nil, err
	}
	base, err := config.FreePorts(3 * config.PortsEach)
	if err != nil {
		return nil, err
	}
	c := &Trio{token: home.NewSecret()}
	files, err := config.WriteLocalCluster(dir, 3, base, c.token, func(n *config.NodeFile) error { n.Master = true; edit(n); return nil })
	if err != nil {
		return nil, err
	}
	var ups []chan error
	for _, path := range files {
		n := &Process{exe: exe, args: []string{"serve", "--config", path, "--log-level", "error"}}
		l.OnClose(func() error { return n.End(syscall.SIGKILL) })
		c.Nodes, ups = append(c.Nodes, n), append(ups, n.Launch(ctx))
	}
	for _, up := range ups {
		if err := <-up; err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Client names some of the nodes to a client.
func (c *Trio) Client(nodes ...*Process) client.Config {
	cfg := client.Config{Token: c.token}
	for _, n := range nodes {
		cfg.Addrs = append(cfg.Addrs, n.Line.Wire)
	}
	return cfg
}

// WholeIn bounds how long three nodes may take until they are equal.
const WholeIn = 2 * time.Minute

// Whole waits until all three are at the same index or close to it, and says which one leads.
func (c *Trio) Whole(ctx context.Context) (leader int, err error) {
	for limit := time.Now().Add(WholeIn); time.Now().Before(limit) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		leader = -1
		good := 0
		for i, n := range c.Nodes {
			var st api.ClusterStatus
			t := &cli.Target{Endpoints: []string{n.Line.HTTP}, TokenText: c.token, Timeout: 5 * time.Second}
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
		if good == len(c.Nodes) && leader >= 0 {
			return leader, nil
		}
	}
	return 0, cmp.Or(ctx.Err(), err, errors.New("the cluster did not become whole again"))
}
