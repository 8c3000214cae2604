package cluster

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

func clusterKeys(s *cli.Streams) *cobra.Command {
	var t cli.Target
	c := &cobra.Command{Use: "keys", Short: "Show every node's encryption, certificates and ports", Args: cobra.NoArgs,
		Long: `Show for every node whether its home is encrypted, the ids and ages of its data keys, what a key rotation has left to do, its
certificates and when they end, and which of its ports use TLS. No key is shown. Needs a token with scope admin.

"cairn key" makes and rotates keys; deploy/ENCRYPTION.md says what they encrypt.`,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := cli.Call(c.Context(), &t, api.Keys, nil)
			if err != nil {
				return err
			}
			if t.JSON {
				return s.JSON(all)
			}
			return printKeys(s.Out, all, time.Now())
		}}
	t.Flags(c)
	return c
}

func printKeys(w io.Writer, all api.KeysAnswer, now time.Time) error {
	var homes, certs, ports [][]any
	days := func(d time.Duration) string { return fmt.Sprintf("%d d", int(d.Hours()/24)) }
	for _, n := range all.Nodes {
		switch {
		case n.Error != "":
			homes = append(homes, []any{n.NodeID, n.Error, "-", "-", "-", "-"})
		case !n.Encrypted:
			homes = append(homes, []any{n.NodeID, "not encrypted", "-", "-", "-", "-"})
		}
		for _, k := range n.Keys {
			state := "replaced"
			if k.Active {
				state = "active"
			} else if len(n.Rewriting) > 0 {
				state = "rotating, left: " + strings.Join(n.Rewriting, ", ")
			}
			homes = append(homes, []any{n.NodeID, "encrypted", k.ID, days(now.Sub(time.Unix(int64(k.Created), 0))), k.Master, state})
		}
		for _, c := range n.Certificates {
			end := time.Unix(int64(c.Until), 0)
			state := strings.ReplaceAll(c.State, "_", " ")
			if c.Fault != "" {
				state += "; its files are not used: " + c.Fault
			}
			certs = append(certs,
				[]any{n.NodeID, c.To, c.Subject, strings.Join(c.Names, " "), end.UTC().Format(time.RFC3339), days(end.Sub(now)), state})
		}
		for _, p := range n.Ports {
			ports = append(ports, []any{n.NodeID, p.Name, p.Addr, map[bool]string{true: "TLS", false: "plain"}[p.TLS]})
		}
	}
	own := func(row []any) []any { return row }
	if err := cli.Rows(w, homes, "NODE|HOME|DATA KEY|AGE|MASTER KEY|STATE", own); err != nil {
		return err
	}
	if len(certs) > 0 {
		fmt.Fprintln(w)
		if err := cli.Rows(w, certs, "NODE|SHOWN TO|SUBJECT|NAMES|ENDS|LEFT|STATE", own); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	return cli.Rows(w, ports, "NODE|PORT|ADDRESS|SECURED", own)
}
