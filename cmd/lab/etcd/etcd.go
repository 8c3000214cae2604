package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/pause"
)

// members holds the client URLs of three etcd processes with default settings.
type members []string

// startEtcd starts three etcd members and waits until they accept writes.
func startEtcd(ctx context.Context, l *bench.Rig) (m members, err error) {
	bin, err := exec.LookPath("etcd")
	if err != nil {
		return nil, fmt.Errorf("%w: Debian has it in the package etcd-server", err)
	}
	dir, err := l.Dir()
	if err != nil {
		return nil, err
	}
	base, err := config.FreePorts(6)
	if err != nil {
		return nil, err
	}
	url := func(i int) string { return "http://" + config.Loopback(base+i) }
	var all []string
	for i := range 3 {
		m = append(m, url(i))
		all = append(all, fmt.Sprintf("m%d=%s", i, url(i+3)))
	}
	for i := range 3 {
		c := exec.CommandContext(ctx, bin, "--name", fmt.Sprint("m", i), "--data-dir", filepath.Join(dir, fmt.Sprint("etcd", i)),
			"--listen-client-urls", url(i), "--advertise-client-urls", url(i), "--listen-peer-urls", url(i+3),
			"--initial-advertise-peer-urls", url(i+3), "--initial-cluster", strings.Join(all, ","),
			"--quota-backend-bytes", "8589934592")
		log, err := os.Create(filepath.Join(dir, fmt.Sprintf("etcd%d.log", i)))
		if err != nil {
			return nil, err
		}
		defer log.Close() // the process has its own descriptor
		c.Stdout, c.Stderr = log, log
		if err := c.Start(); err != nil {
			return nil, err
		}
		l.OnClose(func() error {
			_ = c.Process.Kill() // it may have ended already
			_ = c.Wait()         // ignore the failure of a killed process
			return nil
		})
	}
	return m, m.awaitWritable(ctx)
}

// awaitWritable tries to write for up to half a minute.
func (m members) awaitWritable(ctx context.Context) error {
	c, err := m.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := c.Put(ctx, "bench", "")
		if err == nil {
			return nil
		}
		if pause.For(ctx, 200*time.Millisecond) != nil {
			return fmt.Errorf("etcd is not up after 30 s: %w", err)
		}
	}
}

func (m members) dial(ctx context.Context) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: m, DialTimeout: 5 * time.Second, Context: ctx, Logger: zap.NewNop()})
}

// store puts fresh keys with values of so many bytes.
func (m members) store(size int) store {
	return func(ctx context.Context, l *bench.Rig, n int) ([]*bench.Loader, func(context.Context, *bench.Loader, int) error, error) {
		run, value := rand.Uint64(), make([]byte, size)
		for i := range value {
			value[i] = 'a' + byte(rand.IntN(26))
		}
		loaders, clients := make([]*bench.Loader, n), make([]*clientv3.Client, n)
		for i := range clients {
			c, err := m.dial(ctx)
			if err != nil {
				return nil, nil, err
			}
			l.OnClose(c.Close)
			clients[i], loaders[i] = c, &bench.Loader{ID: i}
		}
		return loaders, func(ctx context.Context, l *bench.Loader, k int) error {
			text := fmt.Sprint(k, " ", string(value))[:size]
			_, err := clients[l.ID].Put(ctx, fmt.Sprintf("bench/%x/%d/%d", run, l.ID, k), text)
			return err
		}, nil
	}
}
