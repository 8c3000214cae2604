package bench

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

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
)

// process is a node that a bench starts as a process of this binary, and may end and start again.
type process struct {
	args []string
	log  io.Writer // for what it says on stderr; nil: nothing of it is kept
	cmd  *exec.Cmd
	line cli.Ready // what it said when it was ready
}

// launch starts the node; what it returns says when it serves.
func (p *process) launch(ctx context.Context) (up chan error) {
	up = make(chan error, 1)
	exe, err := os.Executable()
	if err != nil {
		up <- err
		return up
	}
	p.cmd = exec.CommandContext(ctx, exe, p.args...)
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

// end sends the node a signal and waits for its end; one that fails at a signal which it can follow is an error.
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

// kill ends the node without warning.
func (p *process) kill() { _ = p.end(syscall.SIGKILL) } // one that has ended already is as dead

// devNode is `cairn dev` in a directory of its own, with all its surfaces.
type devNode struct {
	process
	dir, home, token string
}

// startDevNode starts one and waits until it serves. What goes wrong with it is seen on stderr.
func startDevNode(ctx context.Context) (_ *devNode, err error) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		return nil, err
	}
	n := &devNode{dir: dir, home: filepath.Join(dir, "h")}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	base, err := config.FreeRow(10)
	if err != nil {
		return nil, err
	}
	n.args, n.log = []string{"dev", "--home", n.home, "--port-base", strconv.Itoa(base), "--log-level", "error"}, os.Stderr
	if err := <-n.launch(ctx); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(n.home, "token"))
	n.token = strings.TrimSpace(string(raw))
	return n, err
}

// close stops the node and removes what it has stored.
func (n *devNode) close() error {
	return errors.Join(n.end(syscall.SIGTERM), os.RemoveAll(n.dir))
}

// A trio is a cluster of three processes, in a directory of its own.
type trio struct {
	dir, token string
	nodes      []*process
}

// startThree starts one and waits until all three serve. What was started is closed with an error.
func startThree(ctx context.Context, edit func(*config.NodeFile)) (_ *trio, err error) {
	c := &trio{token: home.NewSecret()}
	if c.dir, err = os.MkdirTemp("", "cairn-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	base, err := config.FreeRow(3 * config.PortsEach)
	if err != nil {
		return nil, err
	}
	files, err := config.WriteHere(c.dir, 3, base, c.token, func(n *config.NodeFile) error { edit(n); return nil })
	if err != nil {
		return nil, err
	}
	var ups []chan error
	for _, path := range files {
		n := &process{args: []string{"serve", "--config", path, "--log-level", "error"}}
		c.nodes, ups = append(c.nodes, n), append(ups, n.launch(ctx))
	}
	for _, up := range ups {
		if err := <-up; err != nil {
			return nil, err
		}
	}
	return c, nil
}

// close kills the nodes and removes what they have stored.
func (c *trio) close() error {
	for _, n := range c.nodes {
		n.kill()
	}
	return os.RemoveAll(c.dir)
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
			t := cli.Target{Endpoints: []string{n.line.HTTP}, TokenText: c.token, Timeout: 5 * time.Second}
			if err = t.Get(ctx, "GET", "/v1/cluster", nil, &st); err != nil {
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
