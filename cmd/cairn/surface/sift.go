package surface

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/local/sift"
	"github.com/cairndb/cairn/node/api"
)

// openSift serves the workspaces of this host, each on its socket.
func openSift(ctx context.Context, h *host) (func() error, error) {
	c := h.local.Sift
	home := cmp.Or(c.Home, filepath.Join(h.run, "siftcoder"))
	if !h.socketPathFits("sift", filepath.Join(home, "control.sock")) {
		return nil, nil
	}
	cfg := sift.Config{Home: home, NS: cmp.Or(c.NS, os.Getenv("SIFTCODER_NS")),
		Memory:  h.memory("sift", cmp.Or(c.Database, "default"), append(h.stopScope(), api.Files, api.Git)...),
		Private: !serve.ValueOr(c.Shared, true), Names: c.Names, Transcripts: c.Transcripts, Rollouts: c.Rollouts,
		Logger: h.log.With("surface", "sift")}
	if h.dev {
		cfg.Stop = h.stop
	}
	s, err := sift.Open(cfg)
	if err != nil {
		return nil, err
	}
	dirs := c.Workspaces
	if h.dev {
		cwd, err := os.Getwd()
		if err == nil {
			dirs = append([]string{cmp.Or(os.Getenv("SIFTCODER_WORKSPACE_CWD"), cwd)}, dirs...)
		}
	}
	for _, dir := range dirs {
		socket := ""
		w, err := sift.FindWorkspace(ctx, dir, os.Getenv("SIFTCODER_SUBSPACE"))
		if err == nil {
			socket, err = s.Serve(w)
		}
		if err != nil { // continue with the others
			h.log.Warn("workspace not served", "surface", "sift", "path", dir, "err", err)
		}
		h.line.Sift = cmp.Or(h.line.Sift, socket)
	}
	return s.Close, nil
}
