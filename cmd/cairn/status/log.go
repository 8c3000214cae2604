package status

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// Log returns the command `cairn log`.
func Log(s *cli.Streams) *cobra.Command {
	group := &cobra.Command{Use: "log", Short: "The log of operations: tail"}
	var t cli.Target
	var from uint64
	var limit int
	var follow bool
	c := &cobra.Command{Use: "tail", Short: "Show what was applied: kinds and ids, never content", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return cli.Usagef("--limit: want a whole number of at least 1, got %d", limit)
			}
			p := logPager{s: s, t: &t, from: from}
			for most := limit; ; most = followLines {
				err := p.page(c.Context(), most, follow)
				if c.Context().Err() != nil {
					return nil
				}
				if err != nil || !follow {
					return err
				}
			}
		}}
	t.Flags(c)
	c.Flags().Uint64Var(&from, "from", 0, "first log index; the newest lines by default")
	c.Flags().IntVarP(&limit, "limit", "n", 20, "number of lines")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "keep running and print what is applied")
	group.AddCommand(c)
	return group
}

// followLines is the page size after the first page. It exceeds the number of lines of one record.
const followLines = 10_000

// A logPager prints the lines of the log page by page, each line once.
type logPager struct {
	s    *cli.Streams
	t    *cli.Target
	from uint64       // index at which the next page begins; 0: the newest lines
	last *api.LogLine // last printed line; nil for none
}

// page prints the next page. A full page may end inside a record, so the next page begins with that record again.
func (p *logPager) page(ctx context.Context, limit int, wait bool) error {
	ctx, cancel := p.t.Context(ctx)
	defer cancel()
	path := fmt.Sprintf("/v1/admin/log?from=%d&limit=%d", p.from, limit)
	if wait && p.from > 0 {
		path += fmt.Sprintf("&wait_ms=%d", min(p.t.Timeout/2, 5*time.Second).Milliseconds())
	}
	r, err := p.t.Request(ctx, "GET", path, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	lines, began := 0, p.last
	for l, failed := range cli.Values[api.LogLine](r) {
		if failed == nil {
			lines++
			failed = p.print(l)
		}
		if err = failed; err != nil {
			break
		}
	}
	if p.last != nil {
		p.from = uint64(p.last.Index)
		if lines < limit || p.last == began {
			p.from++
		}
	}
	return err
}

// print prints a line unless it was printed before.
func (p *logPager) print(l api.LogLine) error {
	if p.last != nil && (l.Index < p.last.Index || l.Index == p.last.Index && l.Number <= p.last.Number) {
		return nil
	}
	p.last = &l
	if p.t.JSON {
		return p.s.JSONLine(l)
	}
	_, err := fmt.Fprintf(p.s.Out, "%d.%d  %s  node %d  %s  %s\n", l.Index, l.Number,
		time.UnixMicro(int64(l.Time*1e6)).Local().Format("15:04:05.000"),
		l.Node, cmp.Or(l.Database, "-"), describeOperations(l))
	return err
}

// describeOperations lists the kinds and ids of an entry's operations.
func describeOperations(l api.LogLine) string {
	return strings.Join(api.Each(l.Operations, func(o api.LogOp) string { return strings.TrimSpace(o.Kind + " " + o.ID) }), ", ")
}
