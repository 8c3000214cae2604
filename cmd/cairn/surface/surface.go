// Package surface opens the surfaces that a node serves only on its own host: processes, profiles, and the dialects.
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

// host holds the dependencies of the local surfaces.
type host struct {
	node   *node.Node
	home   string // of the node, absolute
	run    string // directory for sockets and the surfaces' own files, absolute
	local  config.Local
	dev    bool
	base   int    // first port; 0: each protocol's own port
	secret string // of the cluster
	log    *slog.Logger
	stop   func()     // stops the process, like SIGTERM
	line   *cli.Ready // each surface adds its address
}

// port returns the loopback address of a surface. The port is the base plus offset, or else the configured port, or
// else def.
func (h *host) port(offset, def int) string {
	configured := map[int]int{config.StringOffset: h.local.StringPort, config.CovenantOffset: h.local.CovenantPort}[offset]
	if h.base == 0 {
		return config.Loopback(cmp.Or(configured, def))
	}
	return config.Loopback(h.base + offset)
}

// socketPathFits reports whether a socket can have this path; the system allows about a hundred bytes. If not, it
// logs a warning, and the node runs without the surface.
func (h *host) socketPathFits(surface, path string) bool {
	err := serve.CheckPath(path)
	if err != nil {
		h.log.Warn("surface not served: give a shorter --home or local.home", "surface", surface, "err", err)
	}
	return err == nil
}

// surfaces lists the surfaces in the order they are opened. open returns the function that closes the surface; nil if
// it is not served.
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

// Open opens the surfaces of a node, and adds their addresses to line. A surface that cannot be opened is an error in
// dev; in serve it is logged and skipped. stop stops the process like SIGTERM.
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
		if err != nil && !h.dev { // a member of a cluster must run even without a surface
			h.log.Error("surface not served: choose another port or directory for it in [local], or turn it off there with disable = [\""+s.name+"\"]",
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

// memory returns the access of a surface to a database. also lists additional scopes of its clients.
func (h *host) memory(surface, database string, also ...api.Scope) api.At {
	return api.At{Host: h.node.Host(), Surface: surface, Database: database, Also: also}
}

// stopScope returns the scope to stop the node, if clients on this host may have it.
func (h *host) stopScope() []api.Scope {
	if !serve.ValueOr(h.local.AllowShutdown, h.dev) {
		return nil
	}
	return []api.Scope{api.Stop}
}
