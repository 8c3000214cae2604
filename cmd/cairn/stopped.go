package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/seal"
)

// A stopped node is one whose files a verb works on while it does not run: where they are, and their master key.
type stopped struct {
	config, home string
	key          config.KeySource
}

func (s *stopped) flags(c *cobra.Command) {
	c.Flags().StringVarP(&s.config, "config", "c", "", "configuration of the node")
	cli.HomeFlag(c.Flags(), &s.home, "home of a dev node, when there is no configuration")
	s.key.Flags(c)
}

// open reads the configuration; without one the node is a dev node's.
func (s *stopped) open(a *app) (up config.Setup, err error) {
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if s.config != "" {
		up, err = config.Load(s.config, false, func(*config.File) {}, os.Getenv, log)
	} else {
		up = config.Setup{Node: node.Config{Home: s.home}, Dev: true}
	}
	if err != nil {
		return up, err
	}
	if s.key.Set() || !up.Node.Storage.Encryption.On() {
		up.Node.Storage.Encryption = s.key.Source()
	}
	up.Node.Logger = log
	up.Node.Home, err = filepath.Abs(up.Node.Home)
	up.Node.Storage.Kept = func(keys *seal.Ring) ([]home.Kept, error) { return keptFiles(up, keys) }
	return up, err
}
