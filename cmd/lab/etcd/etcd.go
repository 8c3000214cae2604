package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// etcdMembers are three etcd processes with their defaults.
type etcdMembers struct {
	processes
	urls []string
	size int
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
		err := e.start(filepath.Join(dir, fmt.Sprintf("etcd%d.log", i)), bin, "--name", fmt.Sprint("m", i), "--data-dir",
			filepath.Join(dir, fmt.Sprint("etcd", i)),
			"--listen-client-urls", url(i), "--advertise-client-urls", url(i), "--listen-peer-urls", url(i+3),
			"--initial-advertise-peer-urls", url(i+3), "--initial-cluster", strings.Join(members, ","),
			"--quota-backend-bytes", "8589934592")
		if err != nil {
			return nil, err
		}
		e.urls = append(e.urls, url(i))
	}
	return e, writable(ctx, e)
}

func (e *etcdMembers) name() string { return "etcd" }

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
