package admin

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// Token returns the command `cairn token`.
func Token(s *cli.Streams) *cobra.Command {
	group := &cobra.Command{Use: "token", Short: "Client tokens: create, list, revoke, limit"}
	var t cli.Target
	for _, c := range []*cobra.Command{tokenCreate(s, &t), tokenList(s, &t), tokenRevoke(s, &t), tokenLimit(s, &t)} {
		t.Flags(c)
		group.AddCommand(c)
	}
	return group
}

func tokenCreate(s *cli.Streams, t *cli.Target) *cobra.Command {
	var database, label, expires, trust, quarantine string
	var scopes, namespaces []string
	c := &cobra.Command{Use: "create", Short: "Make a token; it is shown once", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range []string{"scope", "namespace", "trust", "quarantine", "expires"} {
				if f := c.Flags().Lookup(name); f.Changed && strings.Trim(f.Value.String(), "[] ") == "" { // for example because of an unset variable in a script
					return cli.Usagef("--%s is blank: leave it out for the default", name)
				}
			}
			body := map[string]any{"database": database, "label": label, "scopes": scopes, "namespaces": namespaces}
			for name, class := range map[string]string{"trust": trust, "quarantine": quarantine} {
				if class != "" {
					body[name] = class
				}
			}
			if c.Flags().Changed("expires") {
				now := time.Now()
				at, err := field.ParseWhen("+"+expires, now)
				if err != nil || !at.After(now) {
					return cli.Usagef("--expires %q: want a duration from now, such as 12h, 30d or 4w", expires)
				}
				body["expires_at"] = float64(at.Unix())
			}
			made, err := cli.Call(c.Context(), t, api.CreateToken, body)
			if err != nil {
				return err
			}
			err = s.PrintResult(t.JSON, made, "%s", made.Token)
			if !t.JSON {
				fmt.Fprintln(s.Err, "store this token now: the cluster keeps only its hash and cannot show it again")
			}
			return err
		}}
	c.Flags().StringVar(&database, "for", "default", "database that the token is for")
	c.Flags().StringVar(&database, "db", "default", "the earlier name of --for")
	c.Flags().Lookup("db").Hidden = true
	c.Flags().StringVar(&label, "label", "", "a label that says what the token is for")
	c.Flags().StringSliceVar(&scopes, "scope", nil,
		"read, write, owner (administers its database), admin (the cluster); read and write by default")
	c.Flags().StringSliceVar(&namespaces, "namespace", nil, "bind the token to this namespace and all below it; repeat it for others")
	c.Flags().StringVar(&trust, "trust", "",
		"highest class of what it writes: operator, agent, tool or web; agent by default, operator with the scope owner or admin")
	c.Flags().StringVar(&quarantine, "quarantine", "",
		"what it writes of this class, and of those below, waits until cairn release lets it in: agent, tool or web")
	c.Flags().StringVar(&expires, "expires", "", "how long the token is valid, such as 12h, 30d or 4w; it does not expire by default")
	return c
}

func tokenList(s *cli.Streams, t *cli.Target) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the tokens by hash", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := cli.Call(c.Context(), t, api.Tokens, nil)
			if err != nil {
				return err
			}
			return cli.List(s, t.JSON, out.Tokens, "HASH|DATABASE|LABEL|SCOPES|TRUST|NAMESPACES|STATE|LAST USED|LIMIT",
				func(r api.Token) []any {
					limit := "-"
					if r.PerSecond > 0 {
						limit = fmt.Sprintf("%d/s", r.PerSecond)
					}
					spaces := "all"
					if r.Spaces.Bind() {
						spaces = r.Spaces.String()
					}
					return []any{r.HashPrefix, r.Database, r.Label, cmp.Or(strings.Join(r.Scopes, " "), "read write"), formatTrust(r),
						spaces, tokenState(r, time.Now()), formatTime(r.Used), limit}
				})
		}}
}

// formatTrust describes the trust class of a token, and the class that waits in quarantine.
func formatTrust(t api.Token) string {
	if t.Quarantine == "" {
		return t.Trust
	}
	return t.Trust + ", holds " + t.Quarantine
}

func tokenRevoke(s *cli.Streams, t *cli.Target) *cobra.Command {
	return &cobra.Command{Use: "revoke TOKEN",
		Short: "Revoke a token, named by its text, its hash or at least the first 8 characters of it; its connections are closed",
		Args:  cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			out, err := cli.Call(c.Context(), t, api.RevokeToken, api.RevokeTokenRequest{Token: args[0]})
			if err != nil {
				return err
			}
			if !out.Revoked && !t.JSON {
				return cli.Hint(errors.New("token not found or already revoked"), "`cairn token list` lists the tokens; name one by at least 8 characters of its hash")
			}
			return s.PrintResult(t.JSON, out, "token revoked")
		}}
}

// tokenState describes whether a token is valid, expired or revoked, and until when it is valid.
func tokenState(r api.Token, now time.Time) string {
	switch {
	case r.Revoked != nil:
		return "revoked"
	case r.Expires == nil:
		return "valid"
	case *r.Expires <= float64(now.Unix()):
		return "expired"
	}
	return "until " + formatTime(r.Expires)
}

// formatTime formats a gateway's time for tables; "never" for nil.
func formatTime(at *float64) string {
	if at == nil {
		return "never"
	}
	return time.UnixMicro(int64(*at * 1e6)).Local().Format("2006-01-02 15:04")
}
