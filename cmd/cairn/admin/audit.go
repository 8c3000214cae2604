package admin

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// Audit is `cairn audit`.
func Audit(s *cli.Streams) *cobra.Command {
	var t cli.Target
	var limit int
	c := &cobra.Command{Use: "audit", Short: "Show who changed databases, tokens, limits, policies and members", Args: cobra.NoArgs,
		Long: `Show the changes of databases, tokens, limits, policies and members, and purges, newest first. Every change is in the log
with the caller that made it: the beginning of a token's hash and its label, master (the cluster secret) or local (a
socket on the node's host). Every node keeps the newest 10,000, and backups hold them.`,
		RunE: func(c *cobra.Command, _ []string) error {
			var out api.AuditList
			if err := t.Get(c.Context(), "GET", fmt.Sprintf("/v1/admin/audit?limit=%d", limit), nil, &out); err != nil {
				return err
			}
			return cli.List(s, t.JSON, out.Audit, "INDEX|WHEN|BY|LABEL|NODE|WHAT|ON|HOW", func(r api.Audit) []any {
				return []any{r.Index, clock(&r.At), r.By, cli.OrDash(r.Label), r.Node, r.What, cli.OrDash(r.On), r.How}
			})
		}}
	t.Flags(c)
	c.Flags().IntVarP(&limit, "limit", "n", 100, "number of changes")
	return c
}
