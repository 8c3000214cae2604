// Package tokenizer splits texts into the pieces of a model's vocabulary, as the files next to the model say:
// tokenizer.json with a WordPiece or a Unigram model, or vocab.txt.
//
// A text goes through the file's normalizers (normalize.go), is split into words (split.go), and each word into
// pieces of the vocabulary (wordpiece.go, unigram.go). A file that needs something unknown is rejected when it is
// read, with an error that names it. A special token in a text, such as "[SEP]", is encoded by its letters.
//
// The files are not trusted: their sizes, the vocabulary and its pieces are bounded, and no number in them is an
// index before it was checked.
package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/index/embed/modeldir"
)

const (
	maxFile  = 64 << 20 // bytes of a tokenizer's file
	maxVocab = 1 << 21  // pieces
	maxPiece = 1 << 10  // bytes of one
	maxSteps = 32       // normalizers, or splitters, in all

	tokenBytes = 64 // bytes of a text that are read for each requested token
)

// A Tokenizer may be used from any number of goroutines.
type Tokenizer struct {
	// Start and End are the special tokens around a text.
	Start, End []int
	// Unknown is the token for words that the vocabulary cannot spell; -1 when there is none.
	Unknown int
	// Size is larger than every token.
	Size int

	normalizers []func(string) string
	splitters   []func([]string) []string
	model       model
}

// A model splits a word into tokens, with the unknown token for what it cannot spell.
type model interface {
	split(word string, tokens []int) []int
}

// Read reads the tokenizer of a model's directory. raw is the file that was read.
func Read(dir string) (t *Tokenizer, raw []byte, err error) {
	if raw, err = modeldir.Read(filepath.Join(dir, "tokenizer.json"), maxFile); err == nil {
		if t, err = Parse(raw); err != nil {
			return nil, nil, fmt.Errorf("tokenizer.json: %w", err)
		}
		return t, raw, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	vocab, err := modeldir.Read(filepath.Join(dir, "vocab.txt"), maxFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s holds neither tokenizer.json nor vocab.txt", dir)
	}
	if err != nil {
		return nil, nil, err
	}
	config, err := modeldir.Read(filepath.Join(dir, "tokenizer_config.json"), maxFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	if t, err = ParseVocab(vocab, config); err != nil {
		return nil, nil, fmt.Errorf("vocab.txt: %w", err)
	}
	return t, append(vocab, config...), nil
}

// Parse reads a tokenizer.json.
func Parse(raw []byte) (*Tokenizer, error) {
	var f struct {
		Model         modelFile       `json:"model"`
		Normalizer    *part           `json:"normalizer"`
		PreTokenizer  *part           `json:"pre_tokenizer"`
		PostProcessor json.RawMessage `json:"post_processor"`
		Added         []struct {
			ID      int    `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	t := &Tokenizer{Unknown: -1}
	special := map[string]bool{}
	for _, a := range f.Added {
		if a.Special {
			special[a.Content] = true
		}
	}
	var err error
	switch f.Model.Type {
	case "WordPiece":
		err = t.wordPiece(&f.Model, special)
	case "Unigram":
		err = t.unigram(&f.Model, special)
	default:
		err = fmt.Errorf("unsupported tokenizer: model %.64q, WordPiece or Unigram is needed", f.Model.Type)
	}
	if err != nil {
		return nil, err
	}
	if t.normalizers, err = f.Normalizer.normalizers(nil); err != nil {
		return nil, err
	}
	if t.splitters, err = f.PreTokenizer.splitters(nil); err != nil {
		return nil, err
	}
	if t.Start, t.End, err = specialTokens(f.PostProcessor); err != nil {
		return nil, err
	}
	for _, id := range append(append([]int{}, t.Start...), t.End...) {
		if id < 0 || id >= maxVocab {
			return nil, fmt.Errorf("special token %d", id)
		}
		t.Size = max(t.Size, id+1)
	}
	return t, nil
}

// ParseVocab makes a BERT tokenizer from the lines of a vocab.txt and, if there is one, a tokenizer_config.json.
func ParseVocab(vocab, config []byte) (*Tokenizer, error) {
	c := part{Type: "BertNormalizer"}
	if len(config) > 0 {
		var f struct {
			Lower   *bool `json:"do_lower_case"`
			Strip   *bool `json:"strip_accents"`
			Chinese *bool `json:"tokenize_chinese_chars"`
		}
		if err := json.Unmarshal(config, &f); err != nil {
			return nil, fmt.Errorf("tokenizer_config.json: %w", err)
		}
		c.Lowercase, c.StripAccents, c.Chinese = f.Lower, f.Strip, f.Chinese
	}
	ids, n := map[string]int{}, 0
	for line := range bytes.Lines(vocab) {
		ids[strings.TrimRight(string(line), "\r\n")] = n // of equal lines the last one counts
		n++
	}
	t := &Tokenizer{}
	w, err := newWordPiece(ids)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"[CLS]", "[SEP]", "[UNK]"} {
		if _, ok := ids[name]; !ok {
			return nil, fmt.Errorf("no token %s", name)
		}
	}
	t.Start, t.End, t.Unknown = []int{ids["[CLS]"]}, []int{ids["[SEP]"]}, ids["[UNK]"]
	w.unknown, t.Size, t.model = t.Unknown, w.size, w
	t.splitters = []func([]string) []string{splitBERT}
	t.normalizers, err = c.normalizers(nil)
	return t, err
}

// Encode returns the tokens of a text, at most limit of them, without the special tokens around it. It reads the
// first 64 bytes of the text for each token, before and after each normalizer, and drops invalid UTF-8.
func (t *Tokenizer) Encode(text string, limit int) (tokens []int) {
	maxBytes := limit * tokenBytes
	text = strings.ToValidUTF8(text[:min(len(text), maxBytes)], "")
	for _, f := range t.normalizers {
		text = f(text)
		text = text[:min(len(text), maxBytes)]
	}
	words := []string{text}
	for _, f := range t.splitters {
		words = f(words)
	}
	for _, w := range words {
		if w != "" {
			tokens = t.model.split(w, tokens)
		}
		if len(tokens) >= limit {
			return tokens[:limit]
		}
	}
	return tokens
}
