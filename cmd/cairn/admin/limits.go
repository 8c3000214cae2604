package admin

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// rateLimits holds the flags that limit a token or a database. Flags that are not given change nothing.
type rateLimits struct{ rps, burst, batch, memories uint32 }

func (b *rateLimits) flags(c *cobra.Command) {
	f := c.Flags()
	f.Uint32Var(&b.rps, "rps", 0, "operations a second that each node accepts; a batch counts as many as it has memories; 0: no limit")
	f.Uint32Var(&b.burst, "burst", 0, "operations that may come at once; 0: as many as --rps")
	f.Uint32Var(&b.batch, "max-batch", 0, "most memories in one request; 0: no limit")
}

func (b *rateLimits) body(c *cobra.Command) map[string]any {
	body := map[string]any{}
	for _, f := range []struct {
		flag, key string
		v         uint32
	}{{"rps", "max_rps", b.rps}, {"burst", "burst", b.burst}, {"max-batch", "max_batch_size", b.batch},
		{"max-memories", "max_memories", b.memories}} {
		if c.Flags().Changed(f.flag) {
			body[f.key] = f.v
		}
	}
	return body
}

func dbQuota(s *cli.Streams, t *cli.Target) *cobra.Command {
	var b rateLimits
	c := &cobra.Command{Use: "quota DB", Short: "Show or set the limits of a database", Args: cobra.ExactArgs(1),
		Long: `Show or set the limits of a database. Limits are replicated; each node counts its own requests, so a cluster of three
accepts up to three times --rps. Memories are counted when they are applied: that limit is exact.`}
	c.RunE = func(c *cobra.Command, args []string) error {
		var out struct {
			api.QuotaAnswer
			Active *uint64 `json:"active_memories,omitempty"` // absent from the answer to a change
		}
		path, method, body := "/v1/admin/databases/"+url.PathEscape(args[0])+"/quota", "GET", any(nil)
		if set := b.body(c); len(set) > 0 {
			method, body = "POST", set
		}
		if err := t.Get(c.Context(), method, path, body, &out); err != nil {
			return err
		}
		memories := formatLimit(out.Memories)
		if out.Active != nil {
			memories = fmt.Sprintf("%d, %s", *out.Active, memories)
		}
		return s.PrintResult(t.JSON, out, "database '%s'\n  memories: %s\n%s", out.Database, memories, formatLimits(out.PerSecond, out.Burst, out.Batch))
	}
	b.flags(c)
	c.Flags().Uint32Var(&b.memories, "max-memories", 0, "most active memories; 0: no limit")
	return c
}

func tokenLimit(s *cli.Streams, t *cli.Target) *cobra.Command {
	var b rateLimits
	c := &cobra.Command{Use: "limit TOKEN",
		Short: "Limit the requests of a token on each node; name it by its text, its hash or at least the first 8 characters of it",
		Args:  cobra.ExactArgs(1)}
	c.RunE = func(c *cobra.Command, args []string) error {
		body := b.body(c)
		body["token"] = args[0]
		out, err := cli.Call(c.Context(), t, api.LimitToken, body)
		if err != nil {
			return err
		}
		return s.PrintResult(t.JSON,
			map[string]any{"hash_prefix": out.Hash, "max_rps": out.PerSecond, "burst": out.Burst, "max_batch_size": out.Batch},
			"token %s\n%s", out.Hash, formatLimits(out.PerSecond, out.Burst, out.Batch))
	}
	b.flags(c)
	return c
}

// formatLimits describes the limits of each node. Without a burst, a second's worth of operations may come at once.
func formatLimits(rps, burst, batch uint32) string {
	rate := "no limit"
	if rps > 0 {
		rate = fmt.Sprintf("at most %d, bursts of %d", rps, cmp.Or(burst, rps))
	}
	return fmt.Sprintf("  operations a second on each node: %s\n  memories in one request: %s", rate, formatLimit(uint64(batch)))
}

func formatLimit(n uint64) string {
	if n == 0 {
		return "no limit"
	}
	return fmt.Sprintf("at most %d", n)
}
