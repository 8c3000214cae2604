// Package bert is a sentence encoder: it reads a BERT model from a directory and makes vectors of texts on the
// processor.
//
// The directory is as sentence-transformers and the model hubs have it:
//
//	config.json                          the model's sizes
//	model.safetensors                    its numbers, in F32, F16 or BF16
//	tokenizer.json, or vocab.txt         package tokenizer
//	modules.json, 1_Pooling/config.json  whether the vector is the mean or the first token, and whether it is normalised
//	sentence_bert_config.json            after how many tokens a text is cut
//	config_sentence_transformers.json    prompts: what stands before a question ("query") and before a text ("document", "passage" or "corpus")
//
// MiniLM, bge-small, e5-small, gte-small and models of their kind are read, also multilingual ones with the tokenizer
// of XLM-R. A file that needs something else is rejected with an error that names it. No file is trusted: sizes
// are bounded, each tensor has the shape that config.json needs, and no token is larger than the table of words.
//
// The same text has the same vector, to the last bit, on the same machine, whatever is embedded at the same time and
// however many goroutines embed. Processors with AVX2 and those without differ by less than 1e-5; vectors travel in
// the log, so replicas do not depend on that.
package bert

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/cairndb/cairn/index/embed/modeldir"
	"github.com/cairndb/cairn/index/embed/safetensors"
	"github.com/cairndb/cairn/index/embed/tokenizer"
)

// version is raised when vectors change by more than their last bits.
const version = "bert/1"

// batchTokens limits the tokens of several texts that are computed at once: enough to use a row of weights often, few
// enough to stay in the processor's cache.
const batchTokens = 192

// A Model may be used from any number of goroutines.
type Model struct {
	shape       shape
	recipe      recipe
	tokens      *tokenizer.Tokenizer
	weights     *weights
	fingerprint [sha256.Size]byte
	kernels     *kernels

	slots  chan struct{} // as many computations as there are processors
	spaces sync.Pool     // of *space
}

// Options are a caller's choices for a model.
type Options struct {
	Int8 bool // keep the table of words in 8 bits: a quarter of its memory; the cosine of a vector with the exact one is over .99
}

// Open reads a model's directory.
func Open(dir string, o Options) (*Model, error) {
	kern := fastest()
	m := &Model{kernels: &kern, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	m.spaces.New = func() any { return new(space) }
	var err error
	if m.recipe, err = readRecipe(dir); err != nil {
		return nil, err
	}
	if err := modeldir.JSON(filepath.Join(m.recipe.Dir, "config.json"), &m.shape); err != nil {
		return nil, err
	}
	if err := m.shape.check(); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	m.recipe.Tokens = min(m.recipe.Tokens, m.shape.Positions-m.shape.offset)
	tokens, raw, err := tokenizer.Read(m.recipe.Dir)
	if err != nil {
		return nil, err
	}
	m.tokens = tokens
	if tokens.Size > m.shape.Vocab {
		return nil, fmt.Errorf("the tokenizer has tokens up to %d, and config.json's vocab_size is %d", tokens.Size-1, m.shape.Vocab)
	}
	if m.maxTextTokens() < 1 {
		return nil, errors.New("the tokens around a text leave no room for it")
	}
	f, err := safetensors.Open(filepath.Join(m.recipe.Dir, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if m.weights, err = load(f, &m.shape, o); err != nil {
		return nil, fmt.Errorf("model.safetensors: %w", err)
	}
	return m, m.setFingerprint(f, raw, o)
}

// setFingerprint computes the fingerprint of everything that vectors depend on.
func (m *Model) setFingerprint(f *safetensors.File, tokens []byte, o Options) error {
	r := m.recipe
	r.Dir = ""
	how, err := json.Marshal([]any{version, m.shape, r, o, len(tokens)})
	if err != nil {
		return err
	}
	h := sha256.New()
	h.Write(how)
	h.Write(tokens)
	if _, err := f.WriteTo(h); err != nil {
		return err
	}
	h.Sum(m.fingerprint[:0])
	return nil
}

// Dim returns the length of a vector.
func (m *Model) Dim() int { return m.shape.Hidden }

// Fingerprint identifies the model and its way from a text to a vector. Vectors with different fingerprints differ.
func (m *Model) Fingerprint() [sha256.Size]byte { return m.fingerprint }

// maxTextTokens returns how many tokens of a text the model reads, besides those that it puts around each text.
func (m *Model) maxTextTokens() int { return m.recipe.Tokens - len(m.tokens.Start) - len(m.tokens.End) }

// Texts returns a vector for each text, in order; nil for an empty one. It returns soon after ctx ends.
func (m *Model) Texts(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embed(ctx, m.recipe.Text, texts)
}

// Questions is like Texts, but for questions: some models were trained with another prompt for them.
func (m *Model) Questions(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embed(ctx, m.recipe.Question, texts)
}

// A batch holds texts that are computed together.
type batch struct {
	places []int // of the texts in the caller's list
	tokens [][]int
	rows   int
}

func (m *Model) embed(ctx context.Context, prompt string, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var batches []*batch
	for i, t := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.TrimSpace(t) == "" {
			continue
		}
		tokens := m.encode(prompt + t)
		if len(tokens) == 0 {
			continue
		}
		b := &batch{}
		if n := len(batches); n > 0 && batches[n-1].rows+len(tokens) <= batchTokens {
			b = batches[n-1]
		} else {
			batches = append(batches, b)
		}
		b.places, b.tokens, b.rows = append(b.places, i), append(b.tokens, tokens), b.rows+len(tokens)
	}
	errs := make([]error, len(batches))
	var computing sync.WaitGroup
	for i, b := range batches {
		select {
		case m.slots <- struct{}{}:
		case <-ctx.Done():
			errs[i] = ctx.Err()
		}
		if errs[i] != nil {
			break
		}
		computing.Go(func() {
			defer func() { <-m.slots }()
			s := m.spaces.Get().(*space)
			defer m.spaces.Put(s)
			vecs, err := m.forward(ctx, s, b.tokens)
			errs[i] = err
			for k, v := range vecs {
				out[b.places[k]] = v
			}
		})
	}
	computing.Wait()
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// encode returns the tokens of a text with the special tokens around it; none when the text has none.
func (m *Model) encode(text string) []int {
	tokens := m.tokens.Encode(text, m.maxTextTokens())
	if len(tokens) == 0 {
		return nil
	}
	return append(append(append(make([]int, 0, m.recipe.Tokens), m.tokens.Start...), tokens...), m.tokens.End...)
}
