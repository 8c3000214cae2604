package embed

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A wordPiece splits texts as BERT does: words and punctuation, then the longest pieces of the vocabulary.
type wordPiece struct {
	vocab     map[string]int
	prefix    string // of a piece inside a word
	longest   int    // runes of a word that is split at all
	lower     bool
	strip     bool // accents
	ideograms bool // are words of their own
}

type tokenizerFile struct {
	Model struct {
		Type     string          `json:"type"`
		Vocab    json.RawMessage `json:"vocab"`
		Prefix   *string         `json:"continuing_subword_prefix"`
		MaxChars int             `json:"max_input_chars_per_word"`
	} `json:"model"`
	Normalizer *struct {
		Type         string `json:"type"`
		Lowercase    *bool  `json:"lowercase"`
		StripAccents *bool  `json:"strip_accents"`
		Chinese      *bool  `json:"handle_chinese_chars"`
	} `json:"normalizer"`
	PreTokenizer *struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
}

func newWordPiece(raw []byte) (*wordPiece, error) {
	var f tokenizerFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if f.Model.Type != "WordPiece" {
		return nil, fmt.Errorf("unsupported tokenizer: model %q, WordPiece is needed", f.Model.Type)
	}
	if f.PreTokenizer != nil && f.PreTokenizer.Type != "BertPreTokenizer" {
		return nil, fmt.Errorf("unsupported tokenizer: pre-tokenizer %q, BertPreTokenizer is needed", f.PreTokenizer.Type)
	}
	w := &wordPiece{prefix: "##", longest: 100}
	if err := json.Unmarshal(f.Model.Vocab, &w.vocab); err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	if f.Model.Prefix != nil {
		w.prefix = *f.Model.Prefix
	}
	if f.Model.MaxChars > 0 {
		w.longest = min(f.Model.MaxChars, 1000)
	}
	yes := func(b *bool, def bool) bool {
		if b == nil {
			return def
		}
		return *b
	}
	if n := f.Normalizer; n != nil {
		if n.Type != "BertNormalizer" {
			return nil, fmt.Errorf("unsupported tokenizer: normalizer %q, BertNormalizer is needed", n.Type)
		}
		w.lower = yes(n.Lowercase, true)
		w.strip = yes(n.StripAccents, w.lower)
		w.ideograms = yes(n.Chinese, true)
	}
	return w, nil
}

// encode returns the ids of at most so many pieces; words that the vocabulary cannot make are left out.
func (w *wordPiece) encode(s string, limit int) (ids []int) {
	w.words(s, func(word string) bool {
		ids = w.pieces(word, ids)
		return len(ids) < limit
	})
	return ids[:min(len(ids), limit)]
}

// words hands over a text's words until f has enough.
func (w *wordPiece) words(s string, f func(string) bool) {
	if w.lower {
		s = strings.ToLower(s)
	}
	if w.strip {
		s = norm.NFD.String(s)
	}
	var b strings.Builder
	more := true
	end := func() {
		if b.Len() > 0 && more {
			more = f(b.String())
		}
		b.Reset()
	}
	for _, r := range s {
		switch {
		case !more:
			return
		case unicode.IsSpace(r):
			end()
		case r == 0, r == unicode.ReplacementChar, unicode.Is(unicode.C, r), w.strip && unicode.Is(unicode.Mn, r):
		case punctuation(r), w.ideograms && unicode.Is(unicode.Han, r):
			end()
			b.WriteRune(r)
			end()
		default:
			b.WriteRune(r)
		}
	}
	end()
}

// punctuation is Unicode's, and every ASCII character that is neither letter, digit nor space.
func punctuation(r rune) bool {
	return r < 128 && r > 32 && !unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.IsPunct(r)
}

func (w *wordPiece) pieces(word string, ids []int) []int {
	runes := []rune(word)
	if len(runes) > w.longest {
		return ids
	}
	had := len(ids)
	for at := 0; at < len(runes); {
		end := len(runes)
		for ; end > at; end-- {
			piece := string(runes[at:end])
			if at > 0 {
				piece = w.prefix + piece
			}
			if id, ok := w.vocab[piece]; ok {
				ids = append(ids, id)
				break
			}
		}
		if end == at {
			return ids[:had] // unknown
		}
		at = end
	}
	return ids
}
