// Package admin contains the verbs for databases, tokens, limits, and the audit of their changes.
package admin

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// DB returns the command `cairn db`.
func DB(s *cli.Streams) *cobra.Command {
	group := &cobra.Command{Use: "db", Short: "Databases: create, list, drop, quota"}
	var t cli.Target
	for _, c := range []*cobra.Command{dbCreate(s, &t), dbList(s, &t), dbDrop(s, &t), dbQuota(s, &t)} {
		t.Flags(c)
		group.AddCommand(c)
	}
	return group
}

func dbCreate(s *cli.Streams, t *cli.Target) *cobra.Command {
	return &cobra.Command{Use: "create NAME", Short: "Create a database", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			made, err := cli.Call(c.Context(), t, api.CreateDatabase, api.CreateDatabaseRequest{Name: args[0]})
			if err != nil {
				return err
			}
			return s.PrintResult(t.JSON, map[string]any{"id": made.ID, "name": args[0]}, "created database '%s' (id: %d)", args[0], made.ID)
		}}
}

func dbList(s *cli.Streams, t *cli.Target) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the databases", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		all, err := cli.Call(c.Context(), t, api.Databases, nil)
		if err != nil {
			return err
		}
		return cli.List(s, t.JSON, all.Databases, "ID|NAME|CREATED", func(d api.Database) []any { return []any{d.ID, d.Name, d.Created} })
	}}
}

func dbDrop(s *cli.Streams, t *cli.Target) *cobra.Command {
	var yes bool
	c := &cobra.Command{Use: "drop DB --yes", Short: "Remove a database with all that is in it", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !yes {
				return cli.Usagef("dropping '%s' cannot be undone: add --yes to confirm", args[0])
			}
			var out api.DroppedDatabase
			if err := t.Get(c.Context(), "DELETE", "/v1/databases/"+url.PathEscape(args[0]), nil, &out); err != nil {
				return err
			}
			return s.PrintResult(t.JSON, out, "dropped database '%s'", args[0])
		}}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return c
}

// Audit returns the command `cairn audit`.
func Audit(s *cli.Streams) *cobra.Command {
	var t cli.Target
	var limit int
	c := &cobra.Command{Use: "audit", Short: "Show who changed databases, tokens, limits, policies and members", Args: cobra.NoArgs,
		Long: `Show the changes of databases, tokens, limits, policies and members, and purges, newest first. Every change is in the log
with the caller that made it: the beginning of a token's hash and its label, master (the cluster secret) or local (a
socket on the node's host). Every node keeps the newest 10,000, and backups hold them.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return cli.Usagef("--limit: want a whole number of at least 1, got %d", limit)
			}
			var out api.AuditList
			if err := t.Get(c.Context(), "GET", fmt.Sprintf("/v1/admin/audit?limit=%d", limit), nil, &out); err != nil {
				return err
			}
			return cli.List(s, t.JSON, out.Audit, "INDEX|WHEN|BY|LABEL|NODE|WHAT|ON|HOW", func(r api.Audit) []any {
				return []any{r.Index, formatTime(&r.At), r.By, cmp.Or(r.Label, "-"), r.Node, r.What, cmp.Or(r.On, "-"), r.How}
			})
		}}
	t.Flags(c)
	c.Flags().IntVarP(&limit, "limit", "n", 100, "number of changes")
	return c
}
