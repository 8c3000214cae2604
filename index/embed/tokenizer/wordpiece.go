package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// A modelFile is the model of a tokenizer.json.
type modelFile struct {
	Type    string          `json:"type"`
	Vocab   json.RawMessage `json:"vocab"` // WordPiece: piece → token; Unigram: a list of piece and score
	Unknown string          `json:"unk_token"`

	Prefix   *string `json:"continuing_subword_prefix"`
	MaxChars int     `json:"max_input_chars_per_word"`

	UnknownID    *int  `json:"unk_id"`
	ByteFallback *bool `json:"byte_fallback"`
}

// A wordPiece splits a word greedily: it takes the longest piece that the rest of the word begins with.
type wordPiece struct {
	first, inner map[string]int // pieces at a word's start, and behind it without their prefix
	longest      int            // bytes of a piece
	maxRunes     int            // of a word that is split at all
	unknown      int
	size         int
}

// wordPrefix marks a piece inside a word.
const wordPrefix = "##"

func (t *Tokenizer) wordPiece(f *modelFile, special map[string]bool) error {
	if f.Prefix != nil && *f.Prefix != wordPrefix {
		return unsupported("WordPiece with the prefix", *f.Prefix)
	}
	if raw := bytes.TrimSpace(f.Vocab); len(raw) == 0 || raw[0] != '{' {
		return errors.New("vocabulary: an object of pieces and tokens is needed")
	}
	var vocab map[string]int
	if err := json.Unmarshal(f.Vocab, &vocab); err != nil {
		return fmt.Errorf("vocabulary: %w", err)
	}
	w, err := newWordPiece(vocab)
	if err != nil {
		return err
	}
	if f.MaxChars > 0 {
		w.maxRunes = min(f.MaxChars, 1000)
	}
	if f.Unknown == "" {
		f.Unknown = "[UNK]"
	}
	if id, ok := vocab[f.Unknown]; ok {
		t.Unknown = id
	}
	for name := range special {
		delete(w.first, name)
	}
	w.unknown, t.Size, t.model = t.Unknown, w.size, w
	return nil
}

func newWordPiece(vocab map[string]int) (*wordPiece, error) {
	if len(vocab) == 0 || len(vocab) > maxVocab {
		return nil, fmt.Errorf("a vocabulary of %d pieces: 1 to %d are allowed", len(vocab), maxVocab)
	}
	w := &wordPiece{first: make(map[string]int, len(vocab)), inner: map[string]int{}, maxRunes: 100}
	for piece, id := range vocab {
		if id < 0 || id >= maxVocab || len(piece) > maxPiece {
			return nil, fmt.Errorf("piece %.64q with token %d: at most %d bytes and tokens below %d are allowed", piece, id,
				maxPiece, maxVocab)
		}
		w.size, w.longest = max(w.size, id+1), max(w.longest, len(piece))
		w.first[piece] = id
		if len(piece) > len(wordPrefix) && piece[:len(wordPrefix)] == wordPrefix {
			w.inner[piece[len(wordPrefix):]] = id
		}
	}
	return w, nil
}

func (w *wordPiece) split(word string, tokens []int) []int {
	before := len(tokens)
	if utf8.RuneCountInString(word) > w.maxRunes {
		return w.appendUnknown(tokens)
	}
	pieces := w.first
	for word != "" {
		end := min(len(word), w.longest)
		for ; end > 0; end-- {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			if id, ok := pieces[word[:end]]; ok {
				tokens = append(tokens, id)
				break
			}
		}
		if end == 0 {
			return w.appendUnknown(tokens[:before])
		}
		word, pieces = word[end:], w.inner
	}
	return tokens
}

// appendUnknown encodes a word that the vocabulary cannot spell.
func (w *wordPiece) appendUnknown(tokens []int) []int {
	if w.unknown < 0 {
		return tokens
	}
	return append(tokens, w.unknown)
}
