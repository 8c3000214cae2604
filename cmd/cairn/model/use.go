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

// How `embed use` follows a node that embeds.
const (
	useLook  = 250 * time.Millisecond
	useTell  = 5 * time.Second // between two lines where there is no terminal
	useStill = 5 * time.Second // without a new vector, after which the model counts as having none for the rest
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
			return s.Tell(t.JSON, is, "%s", embedded(&is))
		}}
	t.Flags(c)
	c.Flags().BoolVar(&cancel, "cancel", false, "cancel the change to another model that is under way")
	c.Flags().BoolVar(&noWait, "no-wait", false, "return at once; the node embeds in the background")
	return c
}

// modelNamed turns a person's name for a model into one that the node understands: a directory's model by its full
// name, because the node may have it elsewhere.
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

// embedded is a line about what embeds a database, and how far.
func embedded(is *api.EmbeddingAnswer) string {
	switch {
	case is.ChangesTo != nil:
		return fmt.Sprintf("changes from %s to %s: %d of %d memories have their vector", *is.Embedder, *is.ChangesTo, is.Done, is.Of)
	case is.Embedder == nil || *is.Embedder == "none":
		return "no node makes vectors: words find the memories, and vectors that clients bring"
	}
	return fmt.Sprintf("%s: %d of %d memories have their vector", *is.Embedder, is.Done, is.Of)
}

// followEmbedding asks how far a database is embedded until it is, and shows it.
func followEmbedding(ctx context.Context, s *cli.Streams, t *cli.Target, at string, is *api.EmbeddingAnswer) error {
	bar := s.Count("memories", int64(is.Of))
	defer func() { _ = bar.Exit() }()
	began := time.Now()
	first, moved, told := is.Done, began, began
	for is.Rebound || is.Missing > 0 && (!answers(is) || time.Since(moved) < useStill) {
		if err := pause.For(ctx, useLook); err != nil {
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
		if !cli.IsTerminal(s.Err) && now.Sub(told) >= useTell {
			told = now
			fmt.Fprintln(s.Err, embedProgress(is, first, now.Sub(began)))
		}
	}
	return nil
}

// answers reports whether the node's model answered the last request.
func answers(is *api.EmbeddingAnswer) bool { return is.EmbedderState != nil && is.Up }

// embedProgress is a line about a database whose memories had so many vectors when it was looked at first, and for how
// long it is looked at.
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
