// Package surface opens what a node serves on its own host alone: the process surface, profiles, and the dialects.
package surface

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/private"
)

// host holds what a local surface needs of its process.
type host struct {
	node   *node.Node
	home   string // of the node, absolute
	run    string // directory for sockets and the surfaces' own files, absolute
	local  config.Local
	dev    bool
	base   int    // of the ports, 0 for the protocols' own
	secret string // of the cluster
	log    *slog.Logger
	stop   func()     // asks the process to stop, as SIGTERM does
	line   *cli.Ready // where a surface says where it listens
}

// port is the loopback address of a surface: behind the base when there is one, else as configured, else def.
func (h *host) port(offset, def int) string {
	configured := map[int]int{config.StringOffset: h.local.StringPort, config.CovenantOffset: h.local.CovenantPort}[offset]
	if h.base == 0 {
		return config.Loopback(cmp.Or(configured, def))
	}
	return config.Loopback(h.base + offset)
}

// fits reports whether a path can be a socket's: the system allows about a hundred bytes. A surface whose path is too
// long is not served, and says so; the node runs all the same.
func (h *host) fits(surface, path string) bool {
	err := serve.CheckPath(path)
	if err != nil {
		h.log.Warn("surface not served: give a shorter --home or local.home", "surface", surface, "err", err)
	}
	return err == nil
}

// surfaces are the protocols spoken on this host only, in the order they open. Open returns what closes one; nil when
// there is nothing to serve.
var surfaces = []struct {
	name string
	open func(context.Context, *host) (func() error, error)
}{
	{"process", openProcess},
	{"debug", openDebug},
	{"string", openString},
	{"sift", openSift},
	{"covenant", openCovenant},
}

// Open opens the surfaces of a node, and notes in line where each listens. In serve a surface that cannot be opened is
// logged and left out; in dev it is an error. stop ends the process as SIGTERM does.
func Open(ctx context.Context, n *node.Node, up config.Setup, line *cli.Ready, stop func()) (closeAll func() error, err error) {
	run, err := filepath.Abs(cmp.Or(up.Local.Home, filepath.Join(up.Node.Home, "run")))
	if err != nil {
		return nil, err
	}
	h := &host{node: n, home: up.Node.Home, run: run, local: up.Local, dev: up.Dev, base: up.Base, secret: n.Secret(),
		log: up.Node.Logger, stop: stop, line: line}
	if err := private.MakeDir(run); err != nil {
		return nil, err
	}
	var closers []func() error
	closeAll = func() (err error) {
		for _, c := range slices.Backward(closers) {
			err = errors.Join(err, c())
		}
		return err
	}
	for _, s := range surfaces {
		if slices.Contains(h.local.Disable, s.name) {
			continue
		}
		c, err := s.open(ctx, h)
		if err != nil && !h.dev { // a member of a cluster is worth more than a surface of one host
			h.log.Error("surface not served: [local] has its home and port, and disable = [\""+s.name+"\"] turns it off",
				"surface", s.name, "err", err)
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", s.name, err), closeAll())
		}
		if c != nil {
			closers = append(closers, c)
		}
	}
	return closeAll, nil
}

// memory is a database behind the node's door, for a surface whose clients may also do what is listed.
func (h *host) memory(surface, database string, also ...api.Scope) api.At {
	return api.At{Host: h.node.Host(), Surface: surface, Database: database, Also: also}
}

// stops is the scope of stopping the node, where clients on this host have it.
func (h *host) stops() []api.Scope {
	if !serve.Or(h.local.AllowShutdown, h.dev) {
		return nil
	}
	return []api.Scope{api.Stop}
}
