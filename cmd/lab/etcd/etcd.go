package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// etcdMembers are three etcd processes with their defaults.
type etcdMembers struct {
	procs []*exec.Cmd
	urls  []string
	size  int
}

func startEtcd(ctx context.Context, dir string, size int) (_ *etcdMembers, err error) {
	e := &etcdMembers{size: size}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	bin, err := exec.LookPath("etcd")
	if err != nil {
		return nil, fmt.Errorf("%w: Debian has it in the package etcd-server", err)
	}
	base, err := freeRun(6)
	if err != nil {
		return nil, err
	}
	url := func(i int) string { return fmt.Sprintf("http://127.0.0.1:%d", base+i) }
	var members []string
	for i := range 3 {
		members = append(members, fmt.Sprintf("m%d=%s", i, url(i+3)))
	}
	for i := range 3 {
		log, err := os.Create(filepath.Join(dir, fmt.Sprintf("etcd%d.log", i)))
		if err != nil {
			return nil, err
		}
		p := exec.Command(bin, "--name", fmt.Sprint("m", i), "--data-dir", filepath.Join(dir, fmt.Sprint("etcd", i)),
			"--listen-client-urls", url(i), "--advertise-client-urls", url(i), "--listen-peer-urls", url(i+3),
			"--initial-advertise-peer-urls", url(i+3), "--initial-cluster", strings.Join(members, ","), "--quota-backend-bytes", "8589934592")
		p.Stdout, p.Stderr = log, log
		err = p.Start()
		log.Close() // the process has its own
		if err != nil {
			return nil, err
		}
		e.procs = append(e.procs, p)
		e.urls = append(e.urls, url(i))
	}
	return e, patiently(ctx, func(ctx context.Context) error {
		w, err := e.client(ctx, 0)
		if err != nil {
			return err
		}
		return errors.Join(w.write(ctx, -2), w.close())
	})
}

func (e *etcdMembers) name() string { return "etcd" }

func (e *etcdMembers) close() error { return stopAll(e.procs) }

func (e *etcdMembers) client(ctx context.Context, who int) (writer, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: e.urls, DialTimeout: 5 * time.Second, Context: ctx, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(uint64(who), 2))
	value := make([]byte, e.size)
	for i := range value {
		value[i] = 'a' + byte(rng.IntN(26))
	}
	return &etcdWriter{c: c, who: who, run: rng.Uint64(), value: value}, nil
}

type etcdWriter struct {
	c     *clientv3.Client
	who   int
	run   uint64
	value []byte
}

func (w *etcdWriter) close() error { return w.c.Close() }

func (w *etcdWriter) write(ctx context.Context, k int) error {
	value := bytes.Clone(w.value)
	copy(value, fmt.Sprint(k))
	_, err := w.c.Put(ctx, fmt.Sprintf("bench/%x/%d/%d", w.run, w.who, k), string(value))
	return err
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

// patiently tries for half a minute.
func patiently(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		one, stop := context.WithTimeout(ctx, 3*time.Second)
		err := try(one)
		stop()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not up after 30 s: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func quiet(c *exec.Cmd) error {
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
	}
	return nil
}
