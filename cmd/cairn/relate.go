package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// relateFlags are the flags of relate.
var relateFlags = []requestFlag{{"weight", "", "weight"}}

func (a *app) relate() *cobra.Command {
	var t cli.Target
	var m wire.Relate
	var check func() error
	c := &cobra.Command{
		Use: "relate ENTITY RELATION TARGET", Short: "Put two entities into a relation", Args: cobra.ExactArgs(3),
		Example: "  cairn relate Alice leads payments",
		RunE: func(c *cobra.Command, args []string) error {
			m.Entity, m.Relationship, m.Target = args[0], args[1], args[2]
			if err := check(); err != nil {
				return err
			}
			return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
				id, err := cl.Relate(ctx, m)
				if err != nil {
					return err
				}
				if t.JSON {
					return a.JSON(map[string]any{"edge_id": id, "index": cl.Index()})
				}
				fmt.Fprintln(a.Out, id)
				return nil
			})
		},
	}
	t.Flags(c)
	t.InDatabase(c)
	check = giveFlags(c, api.Relate.Op, &m, relateFlags)
	return c
}
