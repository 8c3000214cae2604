package model

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/index/embed/models"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/pause"
)

// How `embed use` follows the progress of a node.
const (
	pollInterval     = 250 * time.Millisecond
	progressInterval = 5 * time.Second // interval of progress lines without a terminal
	stalledAfter     = 5 * time.Second // without a new vector, stop waiting: the model rejects the rest
)

func embedUse(s *cli.Streams) *cobra.Command {
	var t cli.Target
	var noWait, cancel bool
	c := &cobra.Command{Use: "use DB [NAME|DIR|builtin|none]",
		Short: "Switch a database to another model, and embed its memories with it", Args: cobra.RangeArgs(1, 2),
		Long: `Switches a database to a model and shows how many memories have their new vectors. NAME is a model that "cairn embed fetch"
downloaded into the node's home; the default is the model in the node's configuration. The node embeds in the background and goes on
when this command is stopped; run it again to see progress. Old vectors serve until all memories have a new one; then the database
switches at once.

  cairn embed use default all-MiniLM-L6-v2
  cairn embed use default --cancel      keep the current model
  cairn embed use default none          no vectors: words alone

In a cluster fetch the model on every node: one that lacks it answers questions by words.`,
		RunE: func(c *cobra.Command, args []string) error {
			ask := map[string]any{}
			switch {
			case cancel && len(args) == 2:
				return cli.Usagef("--cancel keeps the database's current model: give no model with it")
			case cancel:
				ask["cancel"] = true
			case len(args) == 2:
				named, err := modelNamed(t.Home, args[1])
				if err != nil {
					return err
				}
				ask["embedder"] = named
			}
			at := "/v1/admin/databases/" + url.PathEscape(args[0]) + "/embedding"
			var begun api.Reembedding
			if err := t.Get(c.Context(), "POST", at, ask, &begun); err != nil {
				return err
			}
			for _, id := range begun.Lacking {
				fmt.Fprintf(s.Err,
					"node %d does not have this model: it answers questions by words until `cairn embed fetch` downloads it there\n", id)
			}
			is := begun.EmbeddingAnswer
			if !noWait && !cancel {
				if err := followEmbedding(c.Context(), s, &t, at, &is); err != nil {
					return err
				}
			}
			return s.PrintResult(t.JSON, is, "%s", describeEmbedding(&is))
		}}
	t.Flags(c)
	c.Flags().BoolVar(&cancel, "cancel", false, "cancel the change to another model that is under way")
	c.Flags().BoolVar(&noWait, "no-wait", false, "return at once; the node embeds in the background")
	return c
}

// modelNamed returns the name of a model for a request to the node. For a directory that is the model's full name,
// because the node may have the model in another directory.
func modelNamed(home, named string) (string, error) {
	if _, known := models.Find(named); known || named == "builtin" || named == "none" {
		return named, nil
	}
	e, err := Open(home, named)
	if err != nil {
		return "", err
	}
	return e.Identity().String(), nil
}

// describeEmbedding describes the model of a database and the number of embedded memories.
func describeEmbedding(is *api.EmbeddingAnswer) string {
	switch {
	case is.ChangesTo != nil:
		return fmt.Sprintf("changes from %s to %s: %d of %d memories have their vector", *is.Embedder, *is.ChangesTo, is.Done, is.Of)
	case is.Embedder == nil || *is.Embedder == "none":
		return "none: memories are found by their words, and by vectors that clients send"
	}
	return fmt.Sprintf("%s: %d of %d memories have their vector", *is.Embedder, is.Done, is.Of)
}

// followEmbedding polls and prints the progress until all memories of a database are embedded.
func followEmbedding(ctx context.Context, s *cli.Streams, t *cli.Target, at string, is *api.EmbeddingAnswer) error {
	bar := s.Count("memories", int64(is.Of))
	defer func() { _ = bar.Exit() }()
	began := time.Now()
	first, moved, told := is.Done, began, began
	for is.Rebound || is.Missing > 0 && (!embedderUp(is) || time.Since(moved) < stalledAfter) {
		if err := pause.For(ctx, pollInterval); err != nil {
			return err
		}
		var next api.EmbeddingAnswer
		if err := t.Get(ctx, "GET", at, nil, &next); err != nil {
			return err
		}
		now := time.Now()
		if next.Done != is.Done {
			moved = now
		}
		if next.Done < is.Done {
			began, first = now, next.Done
		}
		*is = next
		_ = bar.Set64(int64(is.Done)) // a bar is not worth an error
		if !cli.IsTerminal(s.Err) && now.Sub(told) >= progressInterval {
			told = now
			fmt.Fprintln(s.Err, embedProgress(is, first, now.Sub(began)))
		}
	}
	return nil
}

// embedderUp reports whether the node's model answered its last request.
func embedderUp(is *api.EmbeddingAnswer) bool { return is.EmbedderState != nil && is.Up }

// embedProgress formats a progress line with the rate and the remaining time. first is the number of vectors when
// observation began, took its duration.
func embedProgress(is *api.EmbeddingAnswer, first uint64, took time.Duration) string {
	line := fmt.Sprintf("%d of %d memories", is.Done, is.Of)
	if !embedderUp(is) {
		return line + ", the model does not answer"
	}
	rate := float64(is.Done-first) / took.Seconds()
	if is.Done <= first {
		return line
	}
	left := time.Duration(float64(is.Missing) / rate * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%s, %.0f a second, %s left", line, rate, left)
}
