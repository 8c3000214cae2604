package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/local/process"
)

// openProcess serves the process surface on HOME/run/process.sock. The token is in HOME/process.token.
func openProcess(_ context.Context, h *host) (func() error, error) {
	socket := filepath.Join(h.run, "process.sock")
	if !h.fits("process", socket) {
		return nil, nil
	}
	token, err := processToken(filepath.Join(h.home, "process.token"))
	if err != nil {
		return nil, err
	}
	spill := filepath.Join(h.run, "process")
	if err := os.RemoveAll(spill); err != nil { // of a run that was killed
		return nil, err
	}
	if err := os.MkdirAll(spill, 0o700); err != nil {
		return nil, err
	}
	s, err := process.Listen(process.Config{Socket: socket, Token: token, Version: cmp.Or(buildVersion(), "cairn"), SpillDir: spill, Keys: h.node.Keys(),
		AllowShutdown: h.local.allowShutdown(), Stop: h.stop, Logger: h.log.With("surface", "process")})
	if err != nil {
		return nil, err
	}
	h.line.Process = socket
	return s.Close, nil
}

// processToken reads the token, or makes one.
func processToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err == nil {
		if t := strings.TrimRight(string(b), "\r\n"); t != "" {
			return t, nil
		}
		return "", fmt.Errorf("%s is empty: remove it, and a token is made", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var raw [24]byte
	rand.Read(raw[:]) // never fails
	t := hex.EncodeToString(raw[:])
	return t, os.WriteFile(path, []byte(t+"\n"), 0o600)
}
