package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// How `embed use` follows a node that embeds.
const (
	useLook  = 250 * time.Millisecond
	useTell  = 5 * time.Second // between two lines where there is no terminal
	useStill = 5 * time.Second // without a new vector, after which what is left is what the model made no vector of
)

func (a *app) embedUse() *cobra.Command {
	var t cli.Target
	var noWait bool
	c := &cobra.Command{Use: "use DB [NAME|DIR]", Short: "Give a database to the model of the node, and embed its memories with it", Args: cobra.RangeArgs(1, 2),
		Long: `Gives a database to the model that the node is configured with, and shows how far its memories have their vectors. The node
embeds them in the background and goes on when this command is stopped; run it again to see progress. Until all are done, words
find every memory, and the model those that have their vector.

With NAME or DIR the command is refused unless the node has this very model.`,
		RunE: func(c *cobra.Command, args []string) error {
			ask := map[string]any{}
			if len(args) == 2 {
				e, err := openModel(t.Home, args[1])
				if err != nil {
					return err
				}
				ask["embedder"] = e.Identity().String()
			}
			at := "/v1/admin/databases/" + url.PathEscape(args[0]) + "/embedding"
			var is api.EmbeddingAnswer
			if err := t.Get(c.Context(), "POST", at, ask, &is); err != nil {
				return err
			}
			if !noWait {
				if err := a.followEmbedding(c.Context(), &t, at, &is); err != nil {
					return err
				}
			}
			if t.JSON {
				return a.JSON(is)
			}
			fmt.Fprintf(a.Out, "%s: %d of %d memories have their vector\n", *is.Embedder, is.Done, is.Of)
			return nil
		}}
	t.Flags(c)
	c.Flags().BoolVar(&noWait, "no-wait", false, "return at once; the node embeds in the background")
	return c
}

// followEmbedding asks how far a database is embedded until it is, and shows it.
func (a *app) followEmbedding(ctx context.Context, t *cli.Target, at string, is *api.EmbeddingAnswer) error {
	bar := a.Count("memories", int64(is.Of))
	defer func() { _ = bar.Exit() }()
	tick := time.NewTicker(useLook)
	defer tick.Stop()
	began := time.Now()
	first, moved, told := is.Done, began, began
	for is.Rebound || is.Missing > 0 && (!answers(is) || time.Since(moved) < useStill) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var next api.EmbeddingAnswer
		if err := t.Get(ctx, "GET", at, nil, &next); err != nil {
			return err
		}
		now := time.Now()
		if next.Done != is.Done {
			moved = now
		}
		if next.Done < is.Done { // the index has dropped the vectors of the former model since
			began, first = now, next.Done
		}
		*is = next
		_ = bar.Set64(int64(is.Done)) // a bar is not worth an error
		if !cli.IsTerminal(a.Err) && now.Sub(told) >= useTell {
			told = now
			fmt.Fprintln(a.Err, embedProgress(is, first, now.Sub(began)))
		}
	}
	return nil
}

// answers says whether the node's model answered when it was asked last.
func answers(is *api.EmbeddingAnswer) bool { return is.EmbedderState != nil && is.Up }

// embedProgress is a line about a database whose memories had so many vectors when it was looked at first, and for how long it is looked at.
func embedProgress(is *api.EmbeddingAnswer, first uint64, took time.Duration) string {
	line := fmt.Sprintf("%d of %d memories", is.Done, is.Of)
	if !answers(is) {
		return line + ", the model does not answer"
	}
	rate := float64(is.Done-first) / took.Seconds()
	if is.Done <= first {
		return line
	}
	left := time.Duration(float64(is.Missing) / rate * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%s, %.0f a second, %s left", line, rate, left)
}
