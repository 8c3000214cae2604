package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cairndb/cairn/index/modelserver"
	"github.com/cairndb/cairn/oplog/pause"
)

// How the http embedder treats its server.
const (
	httpBatch   = 64               // texts a request
	httpAtOnce  = 4                // requests under way
	httpTimeout = 20 * time.Second // a request
	httpTries   = 3                // of a request that failed in a way that may pass
	httpPause   = 200 * time.Millisecond
	httpMaxText = 32 << 10 // bytes of a text that are sent
)

// HTTP asks a server for vectors.
type HTTP struct {
	server *modelserver.Server
	model  string
	dim    int
	ollama bool
	slots  chan struct{}
}

// NewHTTP returns an embedder that asks c.URL. A URL that ends in /api/embed is an Ollama server's.
func NewHTTP(c Config) (*HTTP, error) {
	server, u, err := modelserver.New("embedding server", c.URL, c.Key, httpTimeout)
	if err != nil {
		return nil, err
	}
	if c.Model == "" {
		return nil, errors.New("the http embedder needs a model")
	}
	if err := checkDim(c.Dim); err != nil {
		return nil, fmt.Errorf("the http embedder needs its model's dimensions: %w", err)
	}
	return &HTTP{server: server, model: c.Model, dim: c.Dim, ollama: strings.HasSuffix(u.Path, "/api/embed"),
		slots: make(chan struct{}, httpAtOnce)}, nil
}

// Identity implements Embedder.
func (h *HTTP) Identity() Identity { return Identity{"http", h.model, h.dim} }

// Embed implements Embedder.
func (h *HTTP) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for at := 0; at < len(texts); at += httpBatch {
		vecs, err := h.batch(ctx, texts[at:min(at+httpBatch, len(texts))])
		if err != nil {
			return nil, err
		}
		out = append(out, vecs...)
	}
	return out, nil
}

func (h *HTTP) batch(ctx context.Context, texts []string) (vecs [][]float32, err error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for try := 1; ; try++ {
		var retry bool
		vecs, retry, err = h.ask(ctx, texts)
		if err == nil || !retry || try == httpTries {
			return vecs, err
		}
		if pause.For(ctx, time.Duration(try*try)*httpPause) != nil {
			return nil, err
		}
	}
}

type httpRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format,omitempty"`
}

type httpReply struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"` // OpenAI
	Embeddings [][]float32 `json:"embeddings"` // Ollama
}

// ask sends one request. retry reports whether the same request may succeed later.
func (h *HTTP) ask(ctx context.Context, texts []string) (vecs [][]float32, retry bool, err error) {
	req := httpRequest{Model: h.model, Input: make([]string, len(texts))}
	for i, t := range texts {
		req.Input[i] = modelserver.Cut(t, httpMaxText)
	}
	if !h.ollama {
		req.EncodingFormat = "float"
	}
	var reply httpReply
	maxReply := int64(len(texts))*int64(h.dim)*32 + 1<<16 // 32 bytes are ample for a number in JSON
	if retry, err := h.server.Post(ctx, &req, &reply, maxReply); err != nil {
		return nil, retry, err
	}
	vecs, err = h.order(reply, len(texts))
	return vecs, false, err
}

// order puts an answer's vectors in the order of the texts, and checks them.
func (h *HTTP) order(reply httpReply, n int) ([][]float32, error) {
	vecs := reply.Embeddings
	if !h.ollama {
		vecs = make([][]float32, n)
		for _, d := range reply.Data {
			if d.Index < 0 || d.Index >= n || vecs[d.Index] != nil {
				return nil, errors.New("embedding server: a vector for a text that was not sent")
			}
			vecs[d.Index] = d.Embedding
		}
	}
	if len(vecs) != n {
		return nil, fmt.Errorf("embedding server: %d vectors for %d texts", len(vecs), n)
	}
	for _, v := range vecs {
		if len(v) != h.dim {
			return nil, fmt.Errorf("embedding server: a vector of %d dimensions, configured are %d", len(v), h.dim)
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return nil, errors.New("embedding server: a number that is not finite")
			}
		}
	}
	return vecs, nil
}
