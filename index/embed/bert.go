package embed

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/cairndb/cairn/index/embed/bert"
)

// Bert is a sentence encoder that runs in this process.
type Bert struct {
	model    *bert.Model
	identity Identity
}

// OpenBert reads a model's directory (package bert).
func OpenBert(dir string, o bert.Options) (*Bert, error) {
	m, err := bert.Open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("bert embedder: %w", err)
	}
	sum := m.Fingerprint()
	return &Bert{m, Identity{"bert", hex.EncodeToString(sum[:8]), m.Dim()}}, nil
}

// Identity implements Embedder.
func (b *Bert) Identity() Identity { return b.identity }

// Embed implements Embedder.
func (b *Bert) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return b.model.Texts(ctx, texts)
}

// EmbedQuestions implements Questioner.
func (b *Bert) EmbedQuestions(ctx context.Context, texts []string) ([][]float32, error) {
	return b.model.Questions(ctx, texts)
}
