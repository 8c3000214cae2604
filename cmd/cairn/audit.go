package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

func (a *app) audit() *cobra.Command {
	var t cli.Target
	var limit int
	c := &cobra.Command{Use: "audit", Short: "Show who changed databases, tokens, limits, policies and members", Args: cobra.NoArgs,
		Long: `Show the changes of databases, tokens, limits, policies and members, and purges, newest first. Every change is in the log
with the caller that made it: the beginning of a token's hash and its label, master (the cluster secret) or local (a
socket on the node's host). Every node keeps the newest 10,000, and backups hold them.`,
		RunE: func(c *cobra.Command, _ []string) error {
			var out struct {
				Audit []api.Audit `json:"audit"`
			}
			if err := t.Get(c.Context(), "GET", fmt.Sprintf("/v1/admin/audit?limit=%d", limit), nil, &out); err != nil {
				return err
			}
			if t.JSON {
				return a.JSON(out.Audit)
			}
			w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "INDEX\tWHEN\tBY\tLABEL\tNODE\tWHAT\tON\tHOW")
			for _, r := range out.Audit {
				fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.Index, clock(&r.At), r.By, cli.OrDash(r.Label), r.Node, r.What, cli.OrDash(r.On), r.How)
			}
			return w.Flush()
		}}
	t.Flags(c)
	c.Flags().IntVarP(&limit, "limit", "n", 100, "how many")
	return c
}
