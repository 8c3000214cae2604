// Package embed makes vectors from texts, before these enter the log. The vector travels in the entry: nodes that
// only apply the log embed nothing, and a database is bound to the embedder its first vector came from (Identity).
//
//	none     no vectors but the clients' own; memories are found by their words
//	builtin  words, word pairs and letter groups, hashed to signed features; no files, no network
//	static   a directory with a model2vec model: model.safetensors, tokenizer.json (WordPiece or Unigram) or vocab.txt, config.json
//	bert     a directory with a BERT model, as sentence-transformers has it: config.json, model.safetensors, tokenizer.json or vocab.txt
//	http     a server that speaks OpenAI's POST /v1/embeddings or Ollama's POST /api/embed
//
// An Embedder may be used from any number of goroutines. It keeps no text.
package embed

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairndb/cairn/index/embed/bert"
)

// An Identity identifies an embedder: vectors of different identities cannot be compared.
type Identity struct {
	Name    string
	Version string
	Dim     int
}

func (i Identity) String() string {
	return fmt.Sprintf("%s/%s (%d dimensions)", i.Name, i.Version, i.Dim)
}

// An Embedder makes vectors of one dimension.
type Embedder interface {
	Identity() Identity
	// Embed returns a vector for each text, in order; nil for a text with nothing to embed. It returns soon after ctx
	// ends.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// each embeds texts one by one, until ctx ends.
func each(ctx context.Context, texts []string, embed func(string) []float32) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = embed(t)
	}
	return out, nil
}

// A Questioner is an Embedder that embeds questions differently from texts: some models were trained with a prompt
// before each.
type Questioner interface {
	EmbedQuestions(ctx context.Context, texts []string) ([][]float32, error)
}

// Config chooses an embedder. The zero value chooses none.
type Config struct {
	Kind  string // none, builtin, static, bert, http
	Path  string // static, bert: the model's directory
	Int8  bool   // bert: bert.Options
	URL   string // http: up to and with /v1/embeddings or /api/embed
	Model string // http
	Key   string // http: bearer token, if any
	Dim   int    // http: of the model's vectors; builtin: 384
}

// Open makes the embedder; nil for none.
func Open(c Config) (Embedder, error) {
	switch c.Kind {
	case "", "none", "client_only":
		return nil, nil
	case "builtin", "bundled":
		return NewHashed(c.Dim)
	case "static":
		return OpenStatic(c.Path)
	case "bert":
		return OpenBert(c.Path, bert.Options{Int8: c.Int8})
	case "http":
		return NewHTTP(c)
	}
	return nil, fmt.Errorf("embedder %q: want none, builtin, static, bert or http", c.Kind)
}

func checkDim(dim int) error {
	if dim < 8 || dim > 8192 {
		return errors.New("dimensions: want 8 to 8192")
	}
	return nil
}
