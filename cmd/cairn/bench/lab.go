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

// A lab holds the resources of one bench run: the command's streams, and the nodes, clients and directories that the
// bench has started or made. All of them end with the lab, the last one first: a client before its node, a node before
// its directory.
type lab struct {
	*cli.Streams
	closers []func() error
}

func (l *lab) onClose(f func() error) { l.closers = append(l.closers, f) }

func (l *lab) close() (err error) {
	for _, f := range slices.Backward(l.closers) {
		err = errors.Join(err, f())
	}
	return err
}

// dir makes a directory.
func (l *lab) dir() (string, error) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err == nil {
		l.onClose(func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}

// dial makes a client.
func (l *lab) dial(ctx context.Context, cfg client.Config) (*client.Client, error) {
	c, err := client.Dial(ctx, cfg)
	if err == nil {
		l.onClose(func() error { _ = c.Close(); return nil }) // all its requests were answered, or their failure was reported
	}
	return c, err
}

// loaders makes so many clients with a seed each, whose memories have vectors of dim dimensions.
func (l *lab) loaders(ctx context.Context, cfg client.Config, n, dim int) (all []*loader, err error) {
	for i := range n {
		c, err := l.dial(ctx, cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, &loader{c: c, who: i, dim: dim, token: cfg.Token, http: &http.Client{Transport: &http.Transport{}}, rng: rand.New(rand.NewPCG(uint64(i), 7))})
	}
	return all, nil
}
