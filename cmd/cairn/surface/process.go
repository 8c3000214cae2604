package surface

import (
	"context"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/door"
	"github.com/cairndb/cairn/local/process"
	"github.com/cairndb/cairn/node/api"
)

// openProcess serves the process surface on HOME/run/process.sock. The token is in HOME/process.token.
func openProcess(_ context.Context, h *host) (func() error, error) {
	socket := filepath.Join(h.run, "process.sock")
	if !h.socketPathFits("process", socket) {
		return nil, nil
	}
	token, err := door.Token(filepath.Join(h.home, "process.token"))
	if err != nil {
		return nil, err
	}
	spill := filepath.Join(h.run, "process")
	if err := os.RemoveAll(spill); err != nil { // left by a killed process
		return nil, err
	}
	if err := os.MkdirAll(spill, 0o700); err != nil {
		return nil, err
	}
	s, err := process.Listen(process.Config{Socket: socket, Token: token, Version: cli.BuildVersion(), SpillDir: spill, Keys: h.node.Keys(),
		Door: h.memory("process", "default", append(h.stopScope(), api.Programs, api.Files, api.Git)...), Stop: h.stop,
		Logger: h.log.With("surface", "process")})
	if err != nil {
		return nil, err
	}
	h.line.Process = socket
	return s.Close, nil
}
