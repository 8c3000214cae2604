package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/memory"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// relateFlags are the flags of relate.
var relateFlags = map[string]string{"weight": "weight"}

func (a *app) relate() *cobra.Command {
	var t cli.Target
	m := wire.Relate{Weight: 1}
	given := memory.Given{}
	c := &cobra.Command{
		Use: "relate ENTITY RELATION TARGET", Short: "Put two entities into a relation", Args: cobra.ExactArgs(3),
		Example: "  cairn relate Alice leads payments",
		RunE: func(c *cobra.Command, args []string) error {
			m.Entity, m.Relationship, m.Target = args[0], args[1], args[2]
			if err := given.Into(api.Relate.Op.Takes(), &m); err != nil {
				return err
			}
			return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
				id, err := cl.Relate(ctx, m)
				if err != nil {
					return err
				}
				return a.Tell(t.JSON, map[string]any{"edge_id": id, "index": cl.Index()}, "%s", id)
			})
		},
	}
	t.Flags(c)
	t.InDatabase(c)
	given = memory.Flags(c.Flags(), api.Relate.Op, relateFlags)
	return c
}
