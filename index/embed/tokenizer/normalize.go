package tokenizer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	maxPattern     = 256 // bytes of a regular expression
	maxReplacement = 64  // bytes that a match, or a character, becomes; U+FDFA needs 33
)

// plainNormalizers holds the normalizers without settings, by type.
var plainNormalizers = map[string]func(string) string{
	"Lowercase": lowercase, "StripAccents": stripMarks,
	"NFC": norm.NFC.String, "NFD": norm.NFD.String, "NFKC": norm.NFKC.String, "NFKD": norm.NFKD.String,
}

// normalizers appends what p does to a text.
func (p *part) normalizers(list []func(string) string) (_ []func(string) string, err error) {
	if p == nil {
		return list, nil
	}
	if len(list) >= maxSteps || len(p.Normalizers) > maxSteps {
		return nil, errSteps
	}
	switch p.Type {
	case "Sequence":
		for _, n := range p.Normalizers {
			if list, err = n.normalizers(list); err != nil {
				return nil, err
			}
		}
		return list, nil
	case "BertNormalizer":
		list = p.bertNormalizers(list)
	case "Precompiled":
		m, err := parseCharsmap(p.Charsmap)
		if err != nil {
			return nil, fmt.Errorf("precompiled_charsmap: %w", err)
		}
		list = append(list, m.normalize)
	case "Replace":
		f, err := p.replacer()
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	case "Strip":
		if p.Left {
			list = append(list, func(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) })
		}
		if p.Right {
			list = append(list, func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) })
		}
	case "Prepend":
		prefix := p.Prepend
		if len(prefix) > maxReplacement {
			return nil, errors.New("normalizer Prepend: too long")
		}
		list = append(list, func(s string) string {
			if s == "" {
				return s
			}
			return prefix + s
		})
	default:
		f, ok := plainNormalizers[p.Type]
		if !ok {
			return nil, unsupported("normalizer", p.Type)
		}
		list = append(list, f)
	}
	return list, nil
}

// bertNormalizers appends what BERT's own normalizer does.
func (p *part) bertNormalizers(list []func(string) string) []func(string) string {
	if orDefault(p.CleanText, true) {
		list = append(list, cleanText)
	}
	if orDefault(p.Chinese, true) {
		list = append(list, spaceIdeographs)
	}
	lower := orDefault(p.Lowercase, true)
	if orDefault(p.StripAccents, lower) {
		list = append(list, norm.NFD.String, stripMarks)
	}
	if lower {
		list = append(list, lowercase)
	}
	return list
}

func (p *part) replacer() (func(string) string, error) {
	to := p.Content
	if len(to) > maxReplacement {
		return nil, errors.New("normalizer Replace: too long")
	}
	switch {
	case p.Pattern.String != nil && *p.Pattern.String != "":
		from := *p.Pattern.String
		return func(s string) string { return strings.ReplaceAll(s, from, to) }, nil
	case p.Pattern.Regex != nil && len(*p.Pattern.Regex) <= maxPattern:
		re, err := regexp.Compile(*p.Pattern.Regex)
		if err != nil {
			return nil, fmt.Errorf("unsupported tokenizer: normalizer Replace: %w", err)
		}
		return func(s string) string { return re.ReplaceAllLiteralString(s, to) }, nil
	}
	return nil, errors.New("normalizer Replace: a pattern is needed")
}

// cleanText leaves out control characters, tabs and ends of lines apart, and makes every white space a space.
func cleanText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r':
			return ' '
		case r == 0, r == unicode.ReplacementChar, unicode.Is(unicode.C, r):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, s)
}

// ideographs holds the letters that BERT makes their own words: the Unicode blocks of CJK unified and
// compatibility ideographs.
var ideographs = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4dbf, Stride: 1}, {Lo: 0x4e00, Hi: 0x9fff, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x2a6df, Stride: 1}, {Lo: 0x2a700, Hi: 0x2b81f, Stride: 1},
		{Lo: 0x2b820, Hi: 0x2ceaf, Stride: 1}, {Lo: 0x2f800, Hi: 0x2fa1f, Stride: 1}},
}

func spaceIdeographs(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return unicode.Is(ideographs, r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.Is(ideographs, r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// stripMarks leaves out the accents of a decomposed text.
func stripMarks(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s)
}

// lowercase maps rune by rune: a capital I with a dot becomes two runes, and a final sigma a plain sigma.
func lowercase(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307"))
}
