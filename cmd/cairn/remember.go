package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/memory"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// rememberFlags are the flags of remember.
var rememberFlags = map[string]string{
	"type": "memory_type", "namespace": "namespace", "domain": "domain", "source": "source", "session": "session_id", "importance": "importance",
	"valence": "valence", "half-life": "half_life", "metadata": "metadata", "key": "idempotency_key", "created-at": "created_at", "due-at": "due_at",
}

func (a *app) remember() *cobra.Command {
	var t cli.Target
	m := wire.NewRemember("")
	given := memory.Given{}
	c := &cobra.Command{
		Use: "remember TEXT...", Short: "Store a memory; - reads it from standard input", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			m.Text = strings.Join(args, " ")
			if m.Text == "-" {
				b, err := io.ReadAll(io.LimitReader(a.Input(c.Context()), 16<<20))
				if err != nil {
					return err
				}
				m.Text = strings.TrimRight(string(b), "\n")
			}
			if strings.TrimSpace(m.Text) == "" {
				return cli.Usagef("there is no text to remember")
			}
			if err := given.Into(api.Remember.Op.Takes(), &m); err != nil {
				return err
			}
			return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
				rid, err := cl.Remember(ctx, m)
				if err != nil {
					return err
				}
				return a.Tell(t.JSON, map[string]any{"rid": rid, "index": cl.Index()}, "%s", rid)
			})
		},
	}
	t.Flags(c)
	t.InDatabase(c)
	given = memory.Flags(c.Flags(), api.Remember.Op, rememberFlags)
	return c
}
