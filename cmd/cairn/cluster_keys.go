package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

func (a *app) clusterKeys() *cobra.Command {
	var t cli.Target
	c := &cobra.Command{Use: "keys", Short: "Show every node's encryption, certificates and ports", Args: cobra.NoArgs,
		Long: `Show for every node whether its home is encrypted, the ids and ages of its data keys, what a rotation of keys has left to do, the
certificates that it shows with their ends, and which of its ports use TLS. No key is shown. Needs a token with scope admin.

"cairn key" makes and rotates keys; deploy/ENCRYPTION.md says what they encrypt.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return cli.Ask(c.Context(), &a.Streams, &t, "GET", api.Keys.Path(), nil, func(raw json.RawMessage) error {
				var all api.KeysAnswer
				if err := json.Unmarshal(raw, &all); err != nil {
					return err
				}
				return printKeys(a.Out, all, time.Now())
			})
		}}
	t.Flags(c)
	return c
}

func printKeys(w io.Writer, all api.KeysAnswer, now time.Time) error {
	var homes, certs, ports [][]string
	days := func(d time.Duration) string { return fmt.Sprintf("%d d", int(d.Hours()/24)) }
	for _, n := range all.Nodes {
		node := fmt.Sprint(n.NodeID)
		switch {
		case n.Error != "":
			homes = append(homes, []string{node, n.Error, "-", "-", "-", "-"})
		case !n.Encrypted:
			homes = append(homes, []string{node, "not encrypted", "-", "-", "-", "-"})
		}
		for _, k := range n.Keys {
			state := "replaced"
			if k.Active {
				state = "active"
			} else if len(n.Rewriting) > 0 {
				state = "rotating, left: " + strings.Join(n.Rewriting, ", ")
			}
			homes = append(homes, []string{node, "encrypted", k.ID, days(now.Sub(time.Unix(int64(k.Created), 0))), k.Master, state})
		}
		for _, c := range n.Certificates {
			end := time.Unix(int64(c.Until), 0)
			certs = append(certs, []string{node, c.To, c.Subject, strings.Join(c.Names, " "), end.UTC().Format(time.RFC3339), days(end.Sub(now)), strings.ReplaceAll(c.State, "_", " ")})
		}
		for _, p := range n.Ports {
			secured := "plain"
			if p.TLS {
				secured = "TLS"
			}
			ports = append(ports, []string{node, p.Name, p.Addr, secured})
		}
	}
	if err := cli.Table(w, []string{"NODE", "HOME", "DATA KEY", "AGE", "MASTER KEY", "STATE"}, homes); err != nil {
		return err
	}
	if len(certs) > 0 {
		if err := printTable(w, []string{"NODE", "SHOWN TO", "SUBJECT", "NAMES", "ENDS", "LEFT", "STATE"}, certs); err != nil {
			return err
		}
	}
	return printTable(w, []string{"NODE", "PORT", "ADDRESS", "SECURED"}, ports)
}
