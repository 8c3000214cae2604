package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/private"
)

// forGood begins the help of flags that need --for-good.
const forGood = "with --for-good: "

// addForGood adds --for-good to the verb forget. With it, the verb shows what would be erased, asks, and erases it.
func addForGood(s *cli.Streams, c *cobra.Command, t *cli.Target) {
	forget, once := c.RunE, c.Args
	var erase, yes bool
	given := Given{}
	c.Args = func(c *cobra.Command, args []string) error {
		if erase {
			return nil
		}
		return once(c, args)
	}
	c.Flags().BoolVar(&erase, "for-good", false, "erase it with all that was made from it, and reject its text from then on")
	c.Flags().BoolVarP(&yes, "yes", "y", false, forGood+"do not ask for confirmation")
	for _, f := range api.Erase.Op.Takes() {
		if f.Name != "rids" && f.Name != "confirm" {
			f.Doc = forGood + f.Phrase()
			addFlag(c.Flags(), f.Name, f, given)
		}
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if !erase {
			var needs []string
			c.Flags().Visit(func(f *pflag.Flag) {
				if strings.HasPrefix(f.Usage, forGood) {
					needs = append(needs, "--"+f.Name)
				}
			})
			if len(needs) > 0 {
				return cli.Usagef("%s needs --for-good, too", strings.Join(needs, ", "))
			}
			return forget(c, args)
		}
		if len(args) > 0 {
			given["rids"] = args
		}
		return eraseForGood(c.Context(), s, t, given, yes)
	}
}

// eraseForGood shows what would be erased, asks for confirmation, and erases it.
func eraseForGood(ctx context.Context, s *cli.Streams, t *cli.Target, given Given, yes bool) error {
	v := verb{op: api.Erase.Op}
	if err := v.resolveIDs(given, gatewayIDs(ctx, t)); err != nil {
		return err
	}
	ask := func(confirm string) (a api.Erasing, raw json.RawMessage, err error) {
		if confirm != "" {
			given["confirm"] = []string{confirm}
		}
		if err = v.get(ctx, t, given, &raw); err == nil {
			err = json.Unmarshal(raw, &a)
		}
		return a, raw, err
	}
	shown, _, err := ask("")
	if err != nil {
		return err
	}
	if shown.Confirm == "" {
		return cli.Hint(errors.New("there is nothing to erase"),
			"cairn list shows ids; memories that were purged or erased before are gone")
	}
	if !t.JSON {
		if err := printErasure(s, shown); err != nil {
			return err
		}
	}
	if !yes {
		if err := s.Confirm(ctx,
			"Erase "+countErased(shown)+" for good?",
			"nothing was erased"); err != nil {
			return err
		}
	}
	done, raw, err := ask(shown.Confirm)
	if err != nil {
		return err
	}
	if t.JSON {
		return s.JSON(raw)
	}
	printErased(s, done)
	return nil
}

// printErasure lists the memories to erase, and counts those that become recallable again.
func printErasure(s *cli.Streams, a api.Erasing) error {
	if err := cli.Rows(s.Out, a.Memories, "RID|REVISION|NAMESPACE|MERGED|TEXT", func(m api.Doomed) []any {
		revision := ""
		if m.Revision != nil {
			revision = fmt.Sprint(*m.Revision)
		}
		return []any{m.RID, cmp.Or(revision, "-"), m.Namespace, map[bool]string{true: "yes", false: "no"}[m.Merged], api.OneLine(m.Text)}
	}); err != nil {
		return err
	}
	if len(a.Back) > 0 {
		fmt.Fprintf(s.Out, "Recalled again, because what it was merged into goes: %s.\n", api.Many(len(a.Back), "memory", "memories"))
	}
	if a.More {
		fmt.Fprintln(s.Out, "There are more: ask again afterwards.")
	}
	return nil
}

// countErased formats the number of memories, relations and claims in an erasure.
func countErased(a api.Erasing) string {
	return fmt.Sprintf("%s, %s and %s", api.Many(len(a.Memories), "memory", "memories"),
		api.Many(a.Relations, "relation", "relations"), api.Many(a.Claims, "claim", "claims"))
}

func printErased(s *cli.Streams, a api.Erasing) {
	fmt.Fprintf(s.Out, "erased %s at record %s; their bytes may still be in:\n", countErased(a), a.Index)
	for _, held := range a.Held {
		fmt.Fprintln(s.Out, " ", held)
	}
	if len(a.Memories) > 0 {
		fmt.Fprintf(s.Out, "cairn erased %s shows the proof\n", private.Quote(a.Memories[0].RID))
	}
}
