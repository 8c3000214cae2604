package tokenizer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A charsmap replaces characters, as SentencePiece's normalization rules say. Its form is
//
//	4 bytes, little-endian   bytes of the trie
//	trie                     a double array of 32-bit units over the bytes of what is replaced
//	texts                    what it is replaced with, each with a zero byte behind it
//
// A unit holds the byte that leads to it (the low 8 bits; bit 31 is set in a leaf, whose other bits are a place in
// the texts), whether a leaf follows (bit 8) and how far away the units that follow lie (bits 10 to 30, times 256
// when bit 9 is set).
type charsmap struct {
	trie  []uint32
	texts []byte
}

// parseCharsmap reads a charsmap. Without bytes it maps nothing.
func parseCharsmap(raw []byte) (*charsmap, error) {
	if len(raw) == 0 {
		return &charsmap{}, nil
	}
	if len(raw) < 4 {
		return nil, errors.New("too short")
	}
	size := binary.LittleEndian.Uint32(raw)
	raw = raw[4:]
	if uint64(size) > uint64(len(raw)) || size%4 != 0 {
		return nil, errors.New("its trie is longer than the map")
	}
	m := &charsmap{trie: make([]uint32, size/4), texts: raw[size:]}
	for i := range m.trie {
		m.trie[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	if !utf8.Valid(m.texts) {
		return nil, errors.New("its texts are no UTF-8")
	}
	return m, nil
}

// A character with its marks is looked up as a whole if it is shorter than maxCluster bytes.
const maxCluster = 6

// normalize replaces the characters that the map knows: a character together with its marks if it knows them together,
// otherwise each by itself.
func (m *charsmap) normalize(s string) string {
	if len(m.trie) == 0 {
		return s
	}
	var b strings.Builder
	for s != "" {
		n := cluster(s)
		if n < maxCluster {
			if to, ok := m.lookUp(s[:n]); ok {
				b.Write(to)
				s = s[n:]
				continue
			}
		}
		for _, r := range s[:n] {
			c := string(r)
			if to, ok := m.lookUp(c); ok {
				b.Write(to)
			} else {
				b.WriteString(c)
			}
		}
		s = s[n:]
	}
	return b.String()
}

// cluster returns the length of the first character of s together with the marks that follow it; a line's end of two
// characters is one.
func cluster(s string) int {
	first, n := utf8.DecodeRuneInString(s)
	if strings.HasPrefix(s, "\r\n") {
		return 2
	}
	if unicode.IsControl(first) {
		return n
	}
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !unicode.Is(unicode.M, r) && !unicode.Is(unicode.Other_Grapheme_Extend, r) && r != '\u200d' {
			break
		}
		n += size
	}
	return n
}

// lookUp returns the replacement of the shortest prefix of s that the map knows. Callers replace all of s with it.
func (m *charsmap) lookUp(s string) ([]byte, bool) {
	at := follow(m.trie[0])
	for i := range len(s) {
		at ^= uint32(s[i])
		if s[i] == 0 || uint64(at) >= uint64(len(m.trie)) {
			return nil, false
		}
		unit := m.trie[at]
		if unit&(1<<31|0xff) != uint32(s[i]) {
			return nil, false
		}
		at ^= follow(unit)
		if unit>>8&1 == 0 {
			continue
		}
		if uint64(at) >= uint64(len(m.trie)) {
			return nil, false
		}
		from := m.trie[at] &^ (1 << 31)
		if uint64(from) > uint64(len(m.texts)) {
			return nil, false
		}
		to, _, _ := bytes.Cut(m.texts[from:min(int(from)+maxReplacement, len(m.texts))], []byte{0})
		return to, true
	}
	return nil, false
}

// follow returns the offset from a unit to the units behind it; lookUp applies it with xor.
func follow(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
