package main

import (
	"context"
	"fmt"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/client"
)

func (a *app) db() *cobra.Command {
	group := &cobra.Command{Use: "db", Short: "Databases: create, list, drop, quota, reembed"}
	var t cli.Target
	create := &cobra.Command{Use: "create NAME", Short: "Create a database", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
			id, err := cl.CreateDatabase(ctx, args[0])
			if err != nil {
				return err
			}
			if t.JSON {
				return a.JSON(map[string]any{"id": id, "name": args[0]})
			}
			fmt.Fprintf(a.Out, "created database '%s' (id: %d)\n", args[0], id)
			return nil
		})
	}}
	list := &cobra.Command{Use: "list", Short: "List the databases", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		return t.With(c.Context(), func(ctx context.Context, cl *client.Client) error {
			dbs, err := cl.Databases(ctx)
			if err != nil {
				return err
			}
			if t.JSON {
				type row struct {
					ID      uint32 `json:"id"`
					Name    string `json:"name"`
					Created string `json:"created_at"`
				}
				rows := []row{}
				for _, d := range dbs {
					rows = append(rows, row{d.ID, d.Name, d.CreatedAt})
				}
				return a.JSON(rows)
			}
			fmt.Fprintf(a.Out, "%-6s %-20s %s\n", "ID", "NAME", "CREATED")
			for _, d := range dbs {
				fmt.Fprintf(a.Out, "%-6d %-20s %s\n", d.ID, d.Name, d.CreatedAt)
			}
			return nil
		})
	}}
	var yes bool
	drop := &cobra.Command{Use: "drop NAME --yes", Short: "Remove a database with all that is in it", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		if !yes {
			return cli.Usagef("dropping '%s' cannot be undone; say --yes", args[0])
		}
		var out map[string]any
		if err := t.Get(c.Context(), "DELETE", "/v1/databases/"+url.PathEscape(args[0]), nil, &out); err != nil {
			return err
		}
		if t.JSON {
			return a.JSON(out)
		}
		fmt.Fprintf(a.Out, "dropped database '%s'\n", args[0])
		return nil
	}}
	drop.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	for _, c := range []*cobra.Command{create, list, drop, a.dbQuota(&t), a.dbReembed(&t)} {
		t.Flags(c)
		group.AddCommand(c)
	}
	return group
}

func (a *app) dbReembed(t *cli.Target) *cobra.Command {
	return &cobra.Command{Use: "reembed NAME", Short: "Give a database to the embedder that the node is configured with, and embed its memories anew", Args: cobra.ExactArgs(1),
		Long: "Gives a database to the embedder that the node is configured with. Its memories are embedded anew in the background; meanwhile\nwords find all of them, and vectors those that are done. Run the same command again to see progress.",
		RunE: func(c *cobra.Command, args []string) error {
			var out struct {
				Embedder    *string `json:"embedder"`
				Reembedding bool    `json:"reembedding"`
				Done        uint64  `json:"done"`
				Of          uint64  `json:"of"`
			}
			if err := t.Get(c.Context(), "POST", "/v1/admin/databases/"+url.PathEscape(args[0])+"/embedding", map[string]any{}, &out); err != nil {
				return err
			}
			if t.JSON {
				return a.JSON(out)
			}
			by := "nothing"
			if out.Embedder != nil {
				by = *out.Embedder
			}
			fmt.Fprintf(a.Out, "%s: %d of %d memories have their vector\n", by, out.Done, out.Of)
			return nil
		}}
}

// stateOfToken is whether a token opens anything.
func stateOfToken(r api.Token, now time.Time) string {
	switch {
	case r.Revoked != nil:
		return "revoked"
	case r.Expires == nil:
		return "valid"
	case *r.Expires <= float64(now.Unix()):
		return "expired"
	}
	return "until " + clock(r.Expires)
}

// clock is a time of the gateway's as tables show it.
func clock(at *float64) string {
	if at == nil {
		return "never"
	}
	return time.UnixMicro(int64(*at * 1e6)).Local().Format("2006-01-02 15:04")
}

func (a *app) token() *cobra.Command {
	group := &cobra.Command{Use: "token", Short: "Client tokens: create, list, revoke, limit"}
	var t cli.Target
	var database, label string
	var scopes []string
	var expires time.Duration
	create := &cobra.Command{Use: "create", Short: "Make a token; it is shown once", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		body := map[string]any{"database": database, "label": label, "scopes": scopes}
		if expires < 0 || c.Flags().Changed("expires") && expires == 0 {
			return cli.Usagef("--expires %s: from now on, so more than 0", expires)
		}
		if expires > 0 {
			body["expires_at"] = float64(time.Now().Add(expires).Unix())
		}
		var out map[string]any
		if err := t.Get(c.Context(), "POST", "/v1/admin/tokens", body, &out); err != nil {
			return err
		}
		if t.JSON {
			return a.JSON(out)
		}
		fmt.Fprintln(a.Out, out["token"])
		fmt.Fprintln(a.Err, "keep it: only its hash is stored")
		return nil
	}}
	create.Flags().StringVar(&database, "for", "default", "database it lets its holder into")
	create.Flags().StringVar(&label, "label", "", "what it is for")
	create.Flags().StringSliceVar(&scopes, "scope", nil, "read, write, owner (administers its database), admin (the cluster); read and write by default")
	create.Flags().DurationVar(&expires, "expires", 0, "how long it holds; for ever by default")
	list := &cobra.Command{Use: "list", Short: "List the tokens by hash", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		var out struct {
			Tokens []api.Token `json:"tokens"`
		}
		if err := t.Get(c.Context(), "GET", "/v1/admin/tokens", nil, &out); err != nil {
			return err
		}
		if t.JSON {
			return a.JSON(out.Tokens)
		}
		w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "HASH\tDATABASE\tLABEL\tSCOPES\tSTATE\tLAST USED\tLIMIT")
		for _, r := range out.Tokens {
			fmt.Fprintf(w, "%s\t%s\t%s\t%v\t%s\t%s\t%s\n", r.HashPrefix, r.Database, r.Label, r.Scopes, stateOfToken(r, time.Now()), clock(r.Used), perSecond(r.PerSecond))
		}
		return w.Flush()
	}}
	revoke := &cobra.Command{Use: "revoke TOKEN", Short: "End a token (its text, its hash or the beginning of it); its connections are closed", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		var out map[string]bool
		if err := t.Get(c.Context(), "POST", "/v1/admin/tokens/revoke", map[string]string{"token": args[0]}, &out); err != nil {
			return err
		}
		if t.JSON {
			return a.JSON(out)
		}
		if !out["revoked"] {
			return fmt.Errorf("token not found or already revoked")
		}
		fmt.Fprintln(a.Out, "token revoked")
		return nil
	}}
	for _, c := range []*cobra.Command{create, list, revoke, a.tokenLimit(&t)} {
		t.Flags(c)
		group.AddCommand(c)
	}
	return group
}
