package main

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

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// devProcess is a node of its own process, to be stopped and started again.
type devProcess struct {
	home string
	cmd  *exec.Cmd
	line readyLine
	log  *os.File
}

// start runs the node until it says that it is ready.
func (p *devProcess) start(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	base, err := freeRow(6)
	if err != nil {
		return err
	}
	if p.log, err = os.OpenFile(filepath.Join(p.home, "..", "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	p.cmd = exec.CommandContext(ctx, self, "dev", "--home", p.home, "--port-base", fmt.Sprint(base))
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	raw, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(raw, &p.line)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the node did not start; see %s: %w", p.log.Name(), err), p.stop(syscall.SIGKILL))
	}
	go io.Copy(io.Discard, out)
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
	return client.Dial(ctx, client.Config{Addrs: []string{p.line.Wire}, Token: strings.TrimSpace(string(token))})
}

// startRun is how long a node took from its start to its answers.
type startRun struct {
	After string  `json:"after"` // how it had ended
	Ready float64 `json:"ready_s"`
	Read  float64 `json:"first_answer_s"` // a recall, stale, that finds what it must
}

// measureStarts ends the node in both ways and starts it again.
func (a *app) measureStarts(ctx context.Context, p *devProcess, ask wire.Recall) (runs []startRun, err error) {
	for _, end := range []struct {
		name string
		sig  syscall.Signal
	}{{"SIGTERM", syscall.SIGTERM}, {"SIGKILL", syscall.SIGKILL}} {
		if err := p.stop(end.sig); err != nil {
			return runs, err
		}
		start := time.Now()
		if err := p.start(ctx); err != nil {
			return runs, err
		}
		r := startRun{After: end.name, Ready: time.Since(start).Seconds()}
		cl, err := p.dial(ctx)
		if err != nil {
			return runs, err
		}
		results, _, err := cl.Recall(ctx, ask)
		r.Read = time.Since(start).Seconds()
		if err = errors.Join(err, cl.Close()); err != nil {
			return runs, err
		}
		if len(results) < ask.TopK {
			return runs, fmt.Errorf("after %s: %d of %d memories found", end.name, len(results), ask.TopK)
		}
		runs = append(runs, r)
	}
	return runs, nil
}
