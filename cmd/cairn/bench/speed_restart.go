package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// devProcess is a node of its own process, to be stopped and started again.
type devProcess struct {
	home string
	wire string
	cmd  *exec.Cmd
	out  io.ReadCloser
	log  *os.File
}

// start runs the node until it says that it is ready.
func (p *devProcess) start(ctx context.Context) error {
	if err := p.launch(ctx); err != nil {
		return err
	}
	return p.ready()
}

// launch runs the node.
func (p *devProcess) launch(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	base, err := config.FreeRow(6)
	if err != nil {
		return err
	}
	if p.log, err = os.OpenFile(filepath.Join(p.home, "..", "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	p.cmd = exec.CommandContext(ctx, self, "dev", "--home", p.home, "--port-base", fmt.Sprint(base))
	p.cmd.Stderr = p.log
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return err
	}
	p.wire = config.Loopback(base)
	return p.cmd.Start()
}

// ready waits until the node says so.
func (p *devProcess) ready() error {
	raw, err := bufio.NewReader(p.out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(raw, new(cli.Ready))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the node did not start; see %s: %w", p.log.Name(), err), p.stop(syscall.SIGKILL))
	}
	go io.Copy(io.Discard, p.out)
	return nil
}

func (p *devProcess) stop(sig syscall.Signal) error {
	if p.cmd == nil || p.cmd.Process == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	p.cmd.Wait() // how it ended is what the signal says
	return p.log.Close()
}

func (p *devProcess) dial(ctx context.Context) (*client.Client, error) {
	token, err := os.ReadFile(filepath.Join(p.home, "token"))
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, client.Config{Addrs: []string{p.wire}, Token: strings.TrimSpace(string(token))})
}

// startRun is how long a node took from its start to its answers.
type startRun struct {
	After string  `json:"after"`          // how it had ended
	Read  float64 `json:"first_answer_s"` // a recall, stale, that finds what it must
	Ready float64 `json:"ready_s"`
}

// measureStarts ends the node in both ways and starts it again.
func measureStarts(ctx context.Context, a *cli.Streams, p *devProcess, ask wire.Recall) (runs []startRun, err error) {
	for _, end := range []struct {
		name string
		sig  syscall.Signal
	}{{"SIGTERM", syscall.SIGTERM}, {"SIGKILL", syscall.SIGKILL}} {
		if err := p.stop(end.sig); err != nil {
			return runs, err
		}
		began := time.Now()
		if err := p.launch(ctx); err != nil {
			return runs, err
		}
		read, err := p.firstAnswer(ctx, ask)
		if err != nil {
			return runs, fmt.Errorf("after %s: %w", end.name, err)
		}
		if err := p.ready(); err != nil {
			return runs, err
		}
		runs = append(runs, startRun{After: end.name, Read: read.Sub(began).Seconds(), Ready: time.Since(began).Seconds()})
	}
	return runs, nil
}

// firstAnswer asks until it is answered, and returns when. The node listens before it can answer, so there is nothing to wait
// for but its ports.
func (p *devProcess) firstAnswer(ctx context.Context, ask wire.Recall) (at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var cl *client.Client
	for cl == nil {
		if cl, err = p.dial(ctx); err != nil {
			select {
			case <-ctx.Done():
				return at, err
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	results, _, err := cl.Recall(ctx, ask)
	at = time.Now()
	if err == nil && len(results) < ask.TopK {
		err = fmt.Errorf("%d of %d memories found", len(results), ask.TopK)
	}
	return at, errors.Join(err, cl.Close())
}
