// Package admin holds the verbs of who may use a cluster and how much: databases, tokens, limits, and the audit of
// their changes.
package admin

import (
	"context"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/client"
)

// DB is `cairn db`.
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
	return &cobra.Command{Use: "create NAME", Short: "Create a database", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
			id, err := cl.CreateDatabase(ctx, args[0])
			if err != nil {
				return err
			}
			return s.Tell(t.JSON, map[string]any{"id": id, "name": args[0]}, "created database '%s' (id: %d)", args[0], id)
		})
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
	c := &cobra.Command{Use: "drop DB --yes", Short: "Remove a database with all that is in it", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		if !yes {
			return cli.Usagef("dropping '%s' cannot be undone: add --yes to confirm", args[0])
		}
		var out api.DroppedDatabase
		if err := t.Get(c.Context(), "DELETE", "/v1/databases/"+url.PathEscape(args[0]), nil, &out); err != nil {
			return err
		}
		return s.Tell(t.JSON, out, "dropped database '%s'", args[0])
	}}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return c
}
