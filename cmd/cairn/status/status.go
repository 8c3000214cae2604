// Package status shows what a cluster is doing: its state, its rates and its log.
package status

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/pause"
)

// exitDegraded is the exit code with --exit-code if the cluster accepts writes but is degraded.
const exitDegraded = 3

// Command returns the command `cairn status`.
func Command(s *cli.Streams) *cobra.Command {
	var t cli.Target
	var again, codes bool
	var every time.Duration
	c := &cobra.Command{Use: "status", Short: "Show the cluster", Args: cobra.NoArgs,
		Long: `Show the cluster as the node at the given endpoint sees it: "healthy", "degraded: node 3 unreachable" (it accepts writes), or "not healthy"
with the reason. /v1/health, the console and the metric cairn_cluster_condition say the same. Lines before the tables name the files
in which a node found damage since it started, and how they are repaired. The second table shows the files of each node's state: their size,
the bytes that compaction has yet to merge, and how often a damaged block was read since the node started.

Exits with 1 when the cluster is not healthy or the node does not answer, and with --exit-code with 3 when it is degraded.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return cli.Usagef("--interval %s: at least 100ms", every)
			}
			if again {
				return watch(c.Context(), s, &t, every)
			}
			is, err := show(c.Context(), s, &t)
			switch {
			case err != nil:
				return err
			case !is.Healthy:
				return cli.ExitCode(cli.ExitFailed)
			case codes && is.Condition != "healthy":
				return cli.ExitCode(exitDegraded)
			}
			return nil
		}}
	t.Flags(c)
	c.Flags().BoolVarP(&again, "watch", "w", false, "refresh until interrupted")
	c.Flags().DurationVar(&every, "interval", time.Second, "with --watch: how often")
	c.Flags().BoolVar(&codes, "exit-code", false, "exit with 3 when the cluster is degraded")
	return c
}

func show(ctx context.Context, s *cli.Streams, t *cli.Target) (is api.ClusterStatus, err error) {
	var raw json.RawMessage
	if err := t.Cluster(ctx, &raw); err != nil {
		return is, err
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return is, err
	}
	if t.JSON {
		return is, s.JSON(raw)
	}
	return is, printStatus(s.Out, is)
}

func watch(ctx context.Context, s *cli.Streams, t *cli.Target, every time.Duration) error {
	clear := ""
	if cli.IsTerminal(s.Out) {
		clear = "\x1b[H\x1b[2J"
	}
	for {
		fmt.Fprint(cli.Raw(s.Out), clear)
		if _, err := show(ctx, s, t); err != nil && ctx.Err() == nil {
			fmt.Fprintln(s.Err, "cairn:", err) // continue: the node may come back
		}
		if pause.For(ctx, every) != nil {
			return nil
		}
	}
}

func printStatus(w io.Writer, s api.ClusterStatus) error {
	fmt.Fprintf(w, "cluster %s  %s\nleader %s  term %d  quorum %d of %d\n", cmp.Or(s.Cluster, "-"), s.Condition,
		leaderName(s.LeaderID), s.CurrentTerm, s.QuorumSize, cli.Voters(&s, false))
	printEmbedder(w, s)
	printModels(w, s)
	all := membersByID(s)
	for _, p := range all {
		printLeftovers(w, p.NodeID, p.Leftovers)
	}
	for _, p := range all {
		for _, d := range p.Disputes {
			fmt.Fprintf(w, "node %d  disputes what node %d says (%d times): %s\n        %s (runbook divergence.md)\n",
				p.NodeID, d.Peer, d.Times, d.Says, cmp.Or(d.Verdict, "too few other voters have answered yet"))
		}
	}
	for _, p := range all {
		for _, d := range cli.DamageOf(p.Damaged) {
			fmt.Fprintf(w, "node %d  %s\n        %s\n", p.NodeID, d.Text, d.Repair)
		}
	}
	if err := printMembers(w, s); err != nil {
		return err
	}
	return printStores(w, s)
}

// membersByID returns the members in the order of their ids, so that a row stays in its place whichever node answers.
func membersByID(s api.ClusterStatus) []api.Peer {
	all := s.Members()
	slices.SortFunc(all, func(a, b api.Peer) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return all
}

func leaderName(id *uint32) string {
	if id == nil {
		return "none"
	}
	return fmt.Sprintf("node %d", *id)
}

// printEmbedder prints a line if the embedder does not answer or memories wait for a vector.
func printEmbedder(w io.Writer, s api.ClusterStatus) {
	e := s.Embedder
	if e == nil || e.Up && e.Queue == 0 {
		return
	}
	fmt.Fprintf(w, "embedder %s", e.Name)
	if !e.Up {
		fmt.Fprint(w, "  NOT ANSWERING")
		if e.LastError != nil {
			fmt.Fprintf(w, " (%s)", *e.LastError)
		}
	}
	fmt.Fprintf(w, "  %s without a vector yet\n", api.Many(int(e.Queue), "memory", "memories"))
}

// printModels prints the members' models if they differ.
func printModels(w io.Writer, s api.ClusterStatus) {
	have := map[uint32]string{}
	differ := false
	for _, p := range s.Members() {
		if p.Reachable {
			have[p.NodeID] = strings.Join(p.Models, ", ")
			differ = differ || have[p.NodeID] != have[s.NodeID]
		}
	}
	if !differ {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(have)) {
		fmt.Fprintf(w, "node %d  has models %s\n", id, have[id])
	}
}

// printLeftovers prints what remains to be done about a node's home, if anything.
func printLeftovers(w io.Writer, node uint32, l api.Leftovers) {
	if l.HoldPurge {
		fmt.Fprintf(w, "node %d  its files may hold purged text until it has rewritten them (runbook erase.md)\n", node)
	}
	if len(l.OldKeys) > 0 {
		fmt.Fprintf(w, "node %d  is rewriting its files under its new data key: %s left\n", node, strings.Join(l.OldKeys, ", "))
	}
	for _, r := range l.Lost {
		fmt.Fprintf(w, "node %d  keeps records %d to %d, which the cluster lacks; %d of them are known to be acknowledged (%s)\n        import them, on that node: cairn recover --config FILE --import-lost %s (runbook divergence.md)\n",
			node, r.First, r.Last, r.Acknowledged, r.Log, r.Log)
	}
	if len(l.SetAside) > 0 {
		fmt.Fprintf(w, "node %d  moved files aside that were damaged or differ from a majority's: %s\n        keep them until every member is healthy, then remove them (runbooks damaged-state.md, divergence.md)\n",
			node, strings.Join(l.SetAside, ", "))
	}
}

// printStores prints the size of each node's state on disk. BEHIND shows the bytes that compaction has yet to merge;
// DAMAGED the number of reads of damaged blocks.
func printStores(w io.Writer, s api.ClusterStatus) error {
	fmt.Fprintln(w)
	return cli.Rows(w, membersByID(s), "NODE|DISK|TABLES|BEHIND|DAMAGED", func(p api.Peer) []any {
		if p.Store == nil {
			return []any{nodeLabel(s, p), "-", "-", "-", "-"}
		}
		return []any{nodeLabel(s, p), cli.Size(p.Store.Bytes), p.Store.Tables, cli.Size(p.Store.Unmerged), p.Store.Damaged}
	})
}

// nodeLabel returns a node's id, with a star for the queried node.
func nodeLabel(s api.ClusterStatus, p api.Peer) string {
	if p.NodeID == s.NodeID {
		return fmt.Sprint(p.NodeID, " *")
	}
	return fmt.Sprint(p.NodeID)
}

func printMembers(w io.Writer, s api.ClusterStatus) error {
	fmt.Fprintln(w)
	return cli.Rows(w, membersByID(s), "NODE|ROLE|REACHABLE|APPLIED|LAG|STATE|WIRE|VERSION|UP", func(p api.Peer) []any {
		role := p.State
		switch {
		case !p.Reachable:
			return []any{nodeLabel(s, p), "-", "NO", "-", "-", "-", cmp.Or(p.Wire, "-"), "-", "-"}
		case !p.Voter:
			role += " (replica)"
		}
		return []any{nodeLabel(s, p), role, "yes", p.Applied, formatLag(p.LagEntries), compareState(s, p), cmp.Or(p.Wire, "-"),
			p.Version, time.Duration(p.UptimeSecs) * time.Second}
	})
}

func formatLag(n *uint64) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}

// compareState describes whether a peer's state hash equals the queried node's. Hashes at different indexes cannot be
// compared.
func compareState(s api.ClusterStatus, p api.Peer) string {
	switch {
	case p.NodeID == s.NodeID:
		return shortHash(p.Sum)
	case p.SumIndex != s.SumIndex:
		return "at " + fmt.Sprint(p.SumIndex)
	case p.Sum != s.Sum:
		return "DIVERGED"
	default:
		return shortHash(p.Sum) + " ="
	}
}

func shortHash(sum string) string { return sum[:min(8, len(sum))] }
