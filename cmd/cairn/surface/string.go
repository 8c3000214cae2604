package surface

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/local/door"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/node/api"
)

// openString serves stringd over HTTP on loopback. Its files are below the run directory in dev and with local.home,
// and otherwise in ~/.string, the protocol's default.
func openString(_ context.Context, h *host) (func() error, error) {
	c := h.local.String
	if c.Access != "" && c.Access != "workspace" && c.Access != "full" {
		return nil, fmt.Errorf("local.string_access %q: workspace or full", c.Access)
	}
	also := append(h.stopScope(), api.Files)
	if c.Outbound {
		also = append(also, api.Network)
	}
	shell := serve.ValueOr(c.Shell, h.dev)
	cfg := stringd.Config{
		Origins: c.Origins, FullAccess: c.Access == "full", TokenFile: filepath.Join(h.home, "string.token"),
		Addr:    h.port(config.StringOffset, stringPort()),
		Version: cli.BuildVersion(),
		Stop:    h.stop, Logger: h.log.With("surface", "string"), Keys: h.node.Keys(),
		Closed: []string{h.home},
	}
	var err error
	if cfg.Data, cfg.Agents, err = stringDirs(h.local, h.run, h.dev); err != nil {
		return nil, err
	}
	if cfg.Roots, err = h.roots(); err != nil {
		return nil, err
	}
	if cfg.Token, err = door.Token(cfg.TokenFile); err != nil {
		return nil, err
	}
	drop := func() error { return nil }
	if cfg.Keys != nil && shell {
		if cfg.Temp, err = memoryDir(h.home); err != nil { // bash reads commands from files, which must not be on disk in plain text
			h.log.Warn("no shell on this node: its home is encrypted, and there is no memory-backed directory for the files of commands",
				"surface", "string", "err", err)
			shell = false
		} else {
			drop = func() error { return os.RemoveAll(cfg.Temp) }
		}
	}
	if shell {
		also = append(also, api.Programs)
	}
	cfg.Memory = h.memory("string", "default", also...)
	s, err := stringd.Listen(cfg)
	if err != nil {
		return nil, errors.Join(err, drop())
	}
	h.line.String = "http://" + s.Addr()
	return func() error { return errors.Join(s.Close(), drop()) }, nil
}

// roots returns the directories that agents may use.
func (h *host) roots() ([]string, error) {
	if h.local.Roots == nil && h.dev {
		wd, err := os.Getwd()
		return []string{wd}, err
	}
	for _, dir := range h.local.Roots {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("local.string_roots %q: want an absolute path", dir)
		}
	}
	return h.local.Roots, nil
}

// stringDirs returns the directories of the daemon's and its agents' files.
func stringDirs(l config.Local, run string, dev bool) (data, agents string, err error) {
	root := filepath.Join(run, "string")
	if !dev && l.Home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", "", err
		}
		root = filepath.Join(user, ".string")
	}
	data = filepath.Join(root, "daemon")
	if dir := os.Getenv("STRING_DATA_DIR"); dir != "" && !dev {
		data = dir
	}
	data, err = filepath.Abs(data)
	return data, filepath.Join(root, "agents"), err
}

// memoryDir creates a directory in memory. It first removes those left by killed processes of this home.
func memoryDir(home string) (string, error) {
	const shm = "/dev/shm"
	var st syscall.Statfs_t
	if err := syscall.Statfs(shm, &st); err != nil {
		return "", err
	}
	if st.Type != 0x01021994 { // tmpfs
		return "", fmt.Errorf("%s is not a tmpfs", shm)
	}
	of := fnv.New64a()
	of.Write([]byte(home))
	name := fmt.Sprintf("cairn-string-%016x-", of.Sum64())
	old, err := filepath.Glob(filepath.Join(shm, name+"*"))
	if err != nil {
		return "", err
	}
	for _, dir := range old {
		os.RemoveAll(dir) // fails for another user's directory
	}
	return os.MkdirTemp(shm, name+"*")
}

// stringPort returns the port in STRING_PORT, or the protocol's default.
func stringPort() int {
	const def = 3923
	p, err := strconv.Atoi(os.Getenv("STRING_PORT"))
	if err != nil || p < 1 || p > 65535 {
		return def
	}
	return p
}
