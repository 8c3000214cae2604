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

// A Rig holds the resources of one bench run: the command's streams, and the nodes, clients and directories that the
// bench has started or made. Close ends all of them, the last one first: a client before its node, a node before its
// directory.
type Rig struct {
	*cli.Streams
	closers []func() error
}

// OnClose has Close call f.
func (l *Rig) OnClose(f func() error) { l.closers = append(l.closers, f) }

// Close ends what the rig holds.
func (l *Rig) Close() (err error) {
	for _, f := range slices.Backward(l.closers) {
		err = errors.Join(err, f())
	}
	return err
}

// Dir makes a directory.
func (l *Rig) Dir() (string, error) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err == nil {
		l.OnClose(func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}

// Dial makes a client.
func (l *Rig) Dial(ctx context.Context, cfg client.Config) (*client.Client, error) {
	c, err := client.Dial(ctx, cfg)
	if err == nil {
		l.OnClose(func() error { _ = c.Close(); return nil }) // all its requests were answered, or their failure was reported
	}
	return c, err
}

// Loaders makes n clients with a seed each, whose memories have vectors of dim dimensions.
func (l *Rig) Loaders(ctx context.Context, cfg client.Config, n, dim int) (all []*Loader, err error) {
	for i := range n {
		c, err := l.Dial(ctx, cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, &Loader{Client: c, Who: i, dim: dim, Token: cfg.Token,
			HTTP: &http.Client{Transport: &http.Transport{}}, rng: rand.New(rand.NewPCG(uint64(i), 7))})
	}
	return all, nil
}
