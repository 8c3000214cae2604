// Package serve runs a node in this process until it is asked to stop.
package serve

import (
	"cmp"
	"context"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node"
)

// Command returns the command `cairn serve`.
func Command(s *cli.Streams) *cobra.Command {
	var path, home, issuer string
	var wirePort, httpPort int
	var strict, numbered bool
	var l logging
	c := &cobra.Command{
		Use: "serve --config FILE", Short: "Run a node of a cluster", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := l.logger(s.Err)
			if err != nil {
				return err
			}
			var hostErr error
			up, err := config.Load(path, strict, func(f *config.File) {
				f.Server.DataDir = cmp.Or(home, f.Server.DataDir)
				hostErr = f.FindPeers(c.Context(), net.DefaultResolver, log)
				switch {
				case hostErr != nil:
				case numbered:
					host, err := os.Hostname()
					hostErr = cmp.Or(err, f.FromHostname(host))
				default:
					hostErr = f.RemoveSelf()
				}
				f.Server.WirePort, f.Server.HTTPPort = cmp.Or(wirePort, f.Server.WirePort), cmp.Or(httpPort, f.Server.HTTPPort)
				f.Server.OAuthIssuer = cmp.Or(issuer, f.Server.OAuthIssuer)
			}, os.Getenv, log)
			if err := cmp.Or(hostErr, err); err != nil {
				return err
			}
			up.Node.Version, up.Node.Logger = cli.BuildVersion(), log
			return runNode(c.Context(), up, func(_ context.Context, _ *node.Node, l cli.Ready) error { return s.JSONLine(l) })
		},
	}
	c.Flags().StringVarP(&path, "config", "c",
		cmp.Or(os.Getenv("CAIRN_CONFIG"), os.Getenv("YANTRIKDB_CONFIG"), "cairn.toml"), "configuration file")
	c.Flags().StringVar(&home, "home", "", "data directory; overrides server.data_dir")
	c.Flags().StringVar(&home, "data-dir", "", "the same as --home")
	c.Flags().IntVar(&wirePort, "wire-port", 0, "overrides server.wire_port")
	c.Flags().IntVar(&httpPort, "http-port", 0, "overrides server.http_port; the wire port + 1 by default")
	issuerFlag(c, &issuer)
	c.Flags().BoolVar(&numbered, "node-from-hostname", false,
		"take the node id from the host name: NAME-2 is node 3; cluster.peers lists all members, this one too")
	c.Flags().BoolVar(&strict, "strict", false, "reject unknown configuration keys")
	l.flags(c)
	return c
}

// issuerFlag adds --oauth-issuer, which enables OAuth.
func issuerFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "oauth-issuer", "",
		"URL at which MCP clients find the gateway, without /mcp: they get their tokens there, once a user agrees in the browser")
}
