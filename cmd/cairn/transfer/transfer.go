// Package transfer moves data in and out of a cluster: import, export, backup and restore.
package transfer

import (
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// Export returns the command `cairn export`.
func Export(s *cli.Streams) *cobra.Command {
	var t cli.Target
	var filter string
	c := &cobra.Command{Use: "export [DATABASE]",
		Short: "Write a database as JSON lines to stdout: memories, then relations", Args: cobra.MaximumNArgs(1),
		Long: `Write a database as JSON lines to stdout: memories with their revisions and the claims that their texts make, then relations.

Sessions, aliases, claims that clients made, settings and tokens are not in it. "cairn backup" saves everything.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				t.Database = args[0]
			}
			r, err := t.Request(c.Context(), "GET", t.WithDatabase("/v1/export?filter="+url.QueryEscape(filter)), nil)
			if err != nil {
				return err
			}
			defer r.Close()
			n, err := io.Copy(s.Out, r)
			if err != nil {
				return fmt.Errorf("export broke off after %d bytes: %w", n, err)
			}
			return nil
		}}
	t.Flags(c)
	t.DatabaseFlag(c)
	c.Flags().StringVar(&filter, "filter", "", "only memories that pass this `filter`, as in a recall; relations are left out then")
	return c
}
