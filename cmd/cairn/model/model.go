// Package model contains the verbs for embedding models: list, fetch, test and use.
package model

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/index/embed/models"
	"github.com/cairndb/cairn/oplog/private"
)

// Command returns the command `cairn embed`.
func Command(s *cli.Streams) *cobra.Command {
	group := &cobra.Command{Use: "embed", Short: "Models that find memories by meaning: list, fetch, test, use",
		Long: `Models that find memories by meaning: list, fetch, test, use.

  cairn embed fetch all-MiniLM-L6-v2    download it into HOME/models and verify it
  cairn embed test all-MiniLM-L6-v2     embed ten sentences: which are near, and how fast
  cairn dev --embed all-MiniLM-L6-v2    embed what is stored from now on, in databases that have no vectors yet
  cairn embed use default all-MiniLM-L6-v2   switch a database to it, and embed what it holds already

A cluster needs the model on every node, in HOME/models. New databases get the model in the configuration, [embedding] strategy and path.`}
	group.AddCommand(embedList(s), embedFetch(s), embedTest(s), embedUse(s))
	return group
}

const homeUsage = "data directory; models are in its folder models"

// modelsFolder returns the directory of a home's models.
func modelsFolder(home string) string { return filepath.Join(home, "models") }

// modelDir returns the directory of a model, given its name or its path.
func modelDir(home, named string) (string, error) {
	m, known := models.Find(named)
	if !known {
		if isDir(named) {
			return named, nil
		}
		return "", cli.Hint(fmt.Errorf("%q is neither a known model nor a directory", named), "`cairn embed list` lists the known models")
	}
	dir := (&models.Fetcher{Folder: modelsFolder(home)}).Dir(m)
	if _, err := os.Stat(dir); err != nil {
		return "", cli.Hint(fmt.Errorf("model %s is not in %s", named, modelsFolder(home)),
			"`cairn embed fetch "+named+" --home "+private.Quote(home)+"` downloads it")
	}
	return dir, nil
}

// Open opens a model, given its name or its path.
func Open(home, named string) (embed.Embedder, error) {
	dir, err := modelDir(home, named)
	if err != nil {
		return nil, err
	}
	e, err := embed.OpenDir(dir)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", dir, err)
	}
	return e, nil
}
