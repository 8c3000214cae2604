package surface

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"syscall"

	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/local/serve"
)

// openCovenant serves Covenant on HOME/run/covenant/sock, and its HTTP mirror on its own port.
func openCovenant(_ context.Context, h *host) (func() error, error) {
	c := h.local.Covenant
	home := cmp.Or(c.Home, filepath.Join(h.run, "covenant"))
	if !h.socketPathFits("covenant", filepath.Join(home, "sock")) {
		return nil, nil
	}
	cfg := covenant.Config{Home: home, Memory: h.memory("covenant", "default"), Node: h.line.NodeID, Secret: h.secret,
		HTTP: cmp.Or(c.HTTP, h.port(5, 8421)), Origins: c.Origins, NoBootstrap: !serve.ValueOr(c.Bootstrap, true), ShowScore: c.Score,
		Keys: h.node.Keys(), Logger: h.log.With("surface", "covenant")}
	if cfg.HTTP == "off" {
		cfg.HTTP = ""
	}
	s, err := covenant.Listen(cfg)
	if errors.Is(err, syscall.EADDRINUSE) && c.HTTP == "" && h.base == 0 && h.local.CovenantPort == 0 {
		// With several nodes on a host, the first one has the default port.
		h.log.Warn("http mirror not served: its port is taken; covenant_port in [local] chooses another", "surface", "covenant", "addr", cfg.HTTP)
		cfg.HTTP = ""
		s, err = covenant.Listen(cfg)
	}
	if err != nil {
		return nil, err
	}
	h.line.Covenant, h.line.CovenantHTTP = s.Socket(), s.HTTP()
	if h.line.CovenantHTTP != "" {
		h.line.CovenantHTTP = "http://" + h.line.CovenantHTTP
	}
	return s.Close, nil
}
