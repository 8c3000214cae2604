package bench

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node"
)

// openEmbedder makes the embedder that --embedder names.
func openEmbedder(name string) (embed.Embedder, error) {
	kind, dir, _ := strings.Cut(name, ":")
	switch {
	case kind == "static" || kind == "bert":
		return embed.Open(embed.Config{Kind: kind, Path: dir})
	case name == "random":
		return randomEmbedder{}, nil
	case name == "none" || name == "builtin":
		return embed.Open(embed.Config{Kind: name})
	}
	return nil, fmt.Errorf("--embedder %q: want none, builtin, random, static:DIR or bert:DIR", name)
}

// embedsBy gives the nodes of a cluster an embedder, if there is one.
func embedsBy(e embed.Embedder) func(*node.Config) {
	return func(c *node.Config) { c.Embedder = e }
}

// A randomEmbedder knows nothing: a text's vector is decided by its hash.
type randomEmbedder struct{}

const randomDim = 384

// Identity implements embed.Embedder.
func (randomEmbedder) Identity() embed.Identity {
	return embed.Identity{Name: "random", Version: "1", Dim: randomDim}
}

// Embed implements embed.Embedder.
func (randomEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		h := fnv.New64a()
		h.Write([]byte(t))
		out[i] = gauss(rand.New(rand.NewPCG(h.Sum64(), 5)), randomDim)
	}
	return out, ctx.Err()
}
