package bench

import (
	"fmt"
	"strings"

	"github.com/cairndb/cairn/index/embed"
)

// OpenEmbedder opens the embedder for a value of --embedder.
func OpenEmbedder(name string) (embed.Embedder, error) {
	kind, dir, _ := strings.Cut(name, ":")
	switch {
	case kind == "static" || kind == "bert":
		return embed.Open(embed.Config{Kind: kind, Path: dir})
	case name == "none" || name == "builtin":
		return embed.Open(embed.Config{Kind: name})
	}
	return nil, fmt.Errorf("--embedder %q: want none, builtin, static:DIR or bert:DIR", name)
}
