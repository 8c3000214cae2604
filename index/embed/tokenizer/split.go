package tokenizer

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitters appends how p splits the words that the former ones made.
func (p *part) splitters(list []func([]string) []string) (_ []func([]string) []string, err error) {
	if p == nil {
		return list, nil
	}
	if len(list) >= maxSteps || len(p.PreTokenizers) > maxSteps {
		return nil, errSteps
	}
	switch p.Type {
	case "Sequence":
		for _, n := range p.PreTokenizers {
			if list, err = n.splitters(list); err != nil {
				return nil, err
			}
		}
		return list, nil
	case "BertPreTokenizer":
		return append(list, splitBERT), nil
	case "WhitespaceSplit":
		return append(list, splitSpace), nil
	case "Metaspace":
		return p.metaspace(list)
	}
	return nil, unsupported("pre-tokenizer", p.Type)
}

func splitSpace(words []string) (out []string) {
	for _, w := range words {
		out = append(out, strings.FieldsFunc(w, unicode.IsSpace)...)
	}
	return out
}

// splitBERT makes words of what lies between white space and of every punctuation mark.
func splitBERT(words []string) (out []string) {
	for _, w := range splitSpace(words) {
		start := 0
		for i, r := range w {
			if punctuation(r) {
				if start < i {
					out = append(out, w[start:i])
				}
				start = i + utf8.RuneLen(r)
				out = append(out, w[i:start])
			}
		}
		if start < len(w) {
			out = append(out, w[start:])
		}
	}
	return out
}

// punctuation reports whether a rune is Unicode punctuation, or a visible ASCII character that is neither letter nor
// digit.
func punctuation(r rune) bool {
	return r < 127 && r > 32 && !unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.IsPunct(r)
}

// metaspace writes spaces as a mark, puts one before the text, and lets a word begin with each.
func (p *part) metaspace(list []func([]string) []string) ([]func([]string) []string, error) {
	mark := "▁"
	if p.Replacement != nil {
		mark = *p.Replacement
	}
	if utf8.RuneCountInString(mark) != 1 {
		return nil, unsupported("pre-tokenizer Metaspace with the mark", mark)
	}
	scheme := cmp.Or(p.Scheme, "always")
	if p.Scheme == "" && !orDefault(p.Prefix, true) {
		scheme = "never"
	}
	if scheme != "always" && scheme != "first" && scheme != "never" {
		return nil, unsupported("pre-tokenizer Metaspace with prepend_scheme", scheme)
	}
	split := orDefault(p.Split, true)
	return append(list, func(words []string) (out []string) {
		for i, w := range words {
			w = strings.ReplaceAll(w, " ", mark)
			if (scheme == "always" || scheme == "first" && i == 0) && !strings.HasPrefix(w, mark) {
				w = mark + w
			}
			for split {
				_, first := utf8.DecodeRuneInString(w)
				end := strings.Index(w[first:], mark)
				if end < 0 {
					break
				}
				out = append(out, w[:first+end])
				w = w[first+end:]
			}
			out = append(out, w)
		}
		return out
	}), nil
}
