package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire/client"
)

func (a *app) forget() *cobra.Command {
	var t cli.Target
	c := &cobra.Command{
		Use: "forget RID", Short: "Forget a memory", Args: cobra.ExactArgs(1),
		Long: `Forget a memory: recall and lists no longer return it, and claims that were read from its text are removed. It is not erased:
it can still be read by its id and by recalls of an earlier date, and its text stays in the files and backups of all nodes.
To erase, purge: POST /v1/admin/purge, with a token of scope owner.`,
		RunE: func(c *cobra.Command, args []string) error {
			return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
				found, err := cl.Forget(ctx, args[0])
				if err != nil {
					return err
				}
				if t.JSON || found {
					err = a.Tell(t.JSON, map[string]any{"rid": args[0], "found": found, "index": cl.Index()}, "forgotten")
				}
				if !found {
					err = cmp.Or(err, fmt.Errorf("no memory %s", args[0]))
				}
				return err
			})
		},
	}
	t.Flags(c)
	t.InDatabase(c)
	return c
}
