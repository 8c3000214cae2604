package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
)

// member is a node that a bench has started.
type member struct {
	config string
	cmd    *exec.Cmd
	line   cli.Ready
}

// launchThree starts a cluster of three processes. What was started is returned with an error, too.
func launchThree(ctx context.Context, dir, secret string, edit func(*config.NodeFile)) (nodes []*member, err error) {
	base, err := config.FreeRow(3 * config.PortsEach)
	if err != nil {
		return nil, err
	}
	for i := range 3 {
		n := config.NodeHere(filepath.Join(dir, fmt.Sprint("node", i+1)), i+1, 3, base, secret)
		edit(&n)
		path := filepath.Join(dir, fmt.Sprintf("node%d.toml", i+1))
		if err := config.Write(path, n); err != nil {
			return nodes, err
		}
		nodes = append(nodes, &member{config: path})
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
func (n *member) launch(ctx context.Context) chan error {
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

func (n *member) kill() {
	if n.cmd != nil && n.cmd.Process != nil {
		_ = n.cmd.Process.Kill() // one that has ended already is as dead
		_ = n.cmd.Wait()
		n.cmd = nil
	}
}
