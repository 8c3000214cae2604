// Package stopped contains the verbs that work on the home of a stopped node: key management, and recovery after a
// loss.
package stopped

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/surface"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/seal"
)

// A Node identifies a stopped node: its configuration or home, and its master key.
type Node struct {
	Config, Home string
	Key          config.KeySource
}

func (n *Node) flags(c *cobra.Command) {
	c.Flags().StringVarP(&n.Config, "config", "c", "", "configuration of the node")
	cli.HomeFlag(c.Flags(), &n.Home, "home of a dev node, when there is no configuration")
	n.Key.Flags(c)
}

// Open reads the node's setup. Without a configuration, it is that of a dev node. Warnings go to errw.
func (n *Node) Open(errw io.Writer) (up config.Setup, err error) {
	log := slog.New(slog.NewTextHandler(errw, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if n.Config != "" {
		up, err = config.Load(n.Config, false, func(*config.File) {}, os.Getenv, log)
	} else {
		up = config.Setup{Node: node.Config{Home: n.Home}, Dev: true}
	}
	if err != nil {
		return up, err
	}
	if n.Key.Set() || !up.Node.Storage.Encryption.Enabled() {
		up.Node.Storage.Encryption = n.Key.Source()
	}
	up.Node.Logger = log
	up.Node.Home, err = filepath.Abs(up.Node.Home)
	up.Node.Storage.Kept = func(keys *seal.Ring) ([]home.Kept, error) { return surface.Kept(up, keys) }
	return up, err
}
