package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire/client"
)

// A Rig holds the resources of one bench run: the command's streams, and the started nodes, clients and directories.
// Close releases them in reverse order: a client before its node, a node before its directory.
type Rig struct {
	*cli.Streams
	closers []func() error
}

// OnClose registers a function that Close calls.
func (l *Rig) OnClose(f func() error) { l.closers = append(l.closers, f) }

// Close releases all resources of the rig.
func (l *Rig) Close() (err error) {
	for _, f := range slices.Backward(l.closers) {
		err = errors.Join(err, f())
	}
	return err
}

// Dir creates a temporary directory, which Close removes.
func (l *Rig) Dir() (string, error) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err == nil {
		l.OnClose(func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}

// Dial connects a client, which Close closes.
func (l *Rig) Dial(ctx context.Context, cfg client.Config) (*client.Client, error) {
	c, err := client.Dial(ctx, cfg)
	if err == nil {
		l.OnClose(func() error { _ = c.Close(); return nil }) // safe to ignore: all its requests have returned
	}
	return c, err
}

// Loaders connects n loaders with different seeds. Their memories have vectors of dim dimensions.
func (l *Rig) Loaders(ctx context.Context, cfg client.Config, n, dim int) (all []*Loader, err error) {
	for i := range n {
		c, err := l.Dial(ctx, cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, &Loader{Client: c, ID: i, dim: dim, Token: cfg.Token,
			HTTP: &http.Client{Transport: &http.Transport{}}, rng: rand.New(rand.NewPCG(uint64(i), 7))})
	}
	return all, nil
}
