package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/index/embed/modeldir"
	"github.com/cairndb/cairn/index/embed/safetensors"
	"github.com/cairndb/cairn/index/embed/tokenizer"
)

const maxIDs = 512 // tokens of a text that count

// Static looks tokens up in a table and takes their mean.
type Static struct {
	identity  Identity
	tokens    *tokenizer.Tokenizer
	table     []float32 // rows of dim
	dim, rows int
	weights   []float32 // by token; nil for 1
	mapping   []int32   // token → row; nil for itself
	normalise bool
}

// OpenStatic reads a model2vec directory, or one that has it in 0_StaticEmbedding.
func OpenStatic(dir string) (*Static, error) {
	s, err := openStatic(dir)
	if err != nil {
		return nil, fmt.Errorf("static embedder: %w", err)
	}
	return s, nil
}

func openStatic(dir string) (*Static, error) {
	if _, err := os.Stat(filepath.Join(dir, "model.safetensors")); errors.Is(err, os.ErrNotExist) {
		dir = filepath.Join(dir, "0_StaticEmbedding")
	}
	model, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	defer model.Close()
	s := &Static{}
	var c struct {
		Normalize *bool `json:"normalize"`
	}
	if err := modeldir.JSON(filepath.Join(dir, "config.json"), &c); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	s.normalise = c.Normalize == nil || *c.Normalize
	tokens, raw, err := tokenizer.Read(dir)
	if err != nil {
		return nil, err
	}
	s.tokens = tokens
	if err := s.load(model); err != nil {
		return nil, fmt.Errorf("model.safetensors: %w", err)
	}
	h := sha256.New()
	if _, err := model.WriteTo(h); err != nil {
		return nil, err
	}
	h.Write(raw)
	s.identity = Identity{"static", hex.EncodeToString(h.Sum(nil)[:8]), s.dim}
	return s, nil
}

// load takes the tensors it knows.
func (s *Static) load(f *safetensors.File) error {
	name := "embeddings"
	if _, ok := f.Shape(name); !ok {
		name = "embedding.weight"
	}
	shape, ok := f.Shape(name)
	if !ok {
		return errors.New("no tensor embeddings or embedding.weight")
	}
	if len(shape) != 2 || shape[0] < 1 {
		return fmt.Errorf("embeddings of shape %v", shape)
	}
	s.rows, s.dim = shape[0], shape[1]
	if err := checkDim(s.dim); err != nil {
		return err
	}
	table, err := f.Tensor(name)
	if err != nil {
		return err
	}
	if s.table, err = table.Floats(); err != nil {
		return err
	}
	if _, ok := f.Shape("weights"); ok {
		w, err := f.Tensor("weights")
		if err != nil {
			return err
		}
		if s.weights, err = w.Floats(); err != nil {
			return err
		}
	}
	if _, ok := f.Shape("mapping"); ok {
		m, err := f.Tensor("mapping")
		if err != nil {
			return err
		}
		if s.mapping, err = m.Ints(); err != nil {
			return err
		}
	}
	return nil
}

// Identity implements Embedder.
func (s *Static) Identity() Identity { return s.identity }

// Embed implements Embedder.
func (s *Static) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return each(ctx, texts, s.vector)
}

func (s *Static) vector(text string) []float32 {
	sum := make([]float64, s.dim)
	var n float64
	for _, id := range s.tokens.Encode(text, maxIDs) {
		if id == s.tokens.Unknown {
			continue
		}
		row, weight := id, 1.0
		if s.mapping != nil {
			if id >= len(s.mapping) {
				continue
			}
			row = int(s.mapping[id])
		}
		if row < 0 || row >= s.rows {
			continue
		}
		if id < len(s.weights) {
			weight = float64(s.weights[id])
		}
		for k, x := range s.table[row*s.dim : (row+1)*s.dim] {
			sum[k] += float64(weight * float64(x))
		}
		n++
	}
	var length float64
	for k := range sum {
		if n > 0 {
			sum[k] /= n
		}
		length += float64(sum[k] * sum[k])
	}
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return nil
	}
	scale := 1.0
	if s.normalise {
		scale = math.Sqrt(length)
	}
	v := make([]float32, s.dim)
	for k, x := range sum {
		v[k] = float32(x / scale)
	}
	return v
}
