package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// processes are the members of a store.
type processes struct{ all []*exec.Cmd }

// start starts one more, whose output goes to a file.
func (p *processes) start(log, bin string, args ...string) error {
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close() // the process has its own
	c := exec.Command(bin, args...)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		return err
	}
	p.all = append(p.all, c)
	return nil
}

func (p *processes) close() error {
	var errs []error
	for _, c := range p.all {
		errs = append(errs, c.Process.Signal(syscall.SIGTERM))
	}
	for _, c := range p.all {
		if err := c.Wait(); err != nil && c.ProcessState == nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// writable tries for half a minute to write to a store.
func writable(ctx context.Context, s store) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	write := func() error {
		one, stop := context.WithTimeout(ctx, 3*time.Second)
		defer stop()
		w, err := s.client(one, 0)
		if err != nil {
			return err
		}
		return errors.Join(w.write(one, -2), w.close())
	}
	for {
		err := write()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not up after 30 s: %w", s.name(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// freeRun finds n ports in a row that are free.
func freeRun(n int) (int, error) {
	for range 100 {
		base := 20000 + rand.IntN(20000)
		free := true
		for i := 0; i < n && free; i++ {
			l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", base+i))
			if free = err == nil; free {
				l.Close()
			}
		}
		if free {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row", n)
}

func quiet(c *exec.Cmd) error {
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
	}
	return nil
}
