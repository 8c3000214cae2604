package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// handover moves leadership away. A supervisor runs it before it stops a node, so that no client waits for an election.
func handover(s *cli.Streams) *cobra.Command {
	var t cli.Target
	c := &cobra.Command{Use: "handover", Short: "Move leadership away from this node and wait until another node leads; for hooks that run before the node stops", Args: cobra.NoArgs,
		Long: `If the node that receives the command leads, it hands leadership over, and the command waits until another node leads. If it does not
lead, or is the only voter, nothing happens. Exits with 1 when no other node leads in time: the node may be stopped all the same, and
the others elect a leader.`,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := t.Context(c.Context())
			defer cancel()
			said, err := handOver(ctx, &t)
			if err != nil {
				return err
			}
			return s.Tell(t.JSON, map[string]string{"message": said}, "%s", said)
		}}
	t.Flags(c)
	return c
}

func handOver(ctx context.Context, t *cli.Target) (string, error) {
	asked := false
	var refused error // the last hand-over that failed: a member that was late may be in time for the next
	for {
		var s api.ClusterStatus
		if err := t.Cluster(ctx, &s); err != nil {
			return "", err
		}
		switch {
		case cli.Voters(&s, false) == 1:
			return "there is no other voter to hand over to", nil
		case s.Role != "Leader" && s.LeaderID != nil && *s.LeaderID != s.NodeID:
			return fmt.Sprintf("node %d leads", *s.LeaderID), nil
		case s.Role == "Leader" && !asked:
			var out map[string]any
			var no *cli.HTTPError
			refused = t.Get(ctx, "POST", "/v1/cluster/transfer", map[string]any{}, &out)
			if errors.As(refused, &no) && no.Status == http.StatusConflict {
				break
			}
			if refused != nil {
				return "", refused
			}
			asked = true
		case s.Role != "Leader":
			asked = false // it may come back
		}
		if cli.Wait(ctx, 50*time.Millisecond) != nil {
			return "", cli.Hint(errors.Join(errors.New("no other node leads yet"), refused), "check that a majority of the nodes is running")
		}
	}
}
