package redact

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A phone number: with a country's + the separators may be missing, without it they must be there.
var (
	abroad = regexp.MustCompile(`\+(\d{1,3}[ .-]?(?:\(\d{1,4}\)|\d{1,4})[ .-]?\d{2,4}(?:[ .-]?\d{2,4}){1,3})`)
	athome = regexp.MustCompile(`(?:\d{1,3}[ .-])?(?:\(\d{2,4}\)[ .-]?|\d{2,4}[ .-])\d{3,4}[ .-]\d{3,4}`)
)

// phones masks phone numbers. Only runs of the characters these are written in are looked at.
func phones(s string) string {
	var b strings.Builder
	end := 0
	for i := 0; i < len(s); {
		if !phoneByte(s[i]) {
			i++
			continue
		}
		from, digits := i, 0
		for i < len(s) && phoneByte(s[i]) {
			if digit(s[i]) {
				digits++
			}
			i++
		}
		if digits < 8 || i-from > 4096 {
			continue
		}
		if with := phoneRun(s, from, i); with != s[from:i] {
			b.WriteString(s[end:from])
			b.WriteString(with)
			end = i
		}
	}
	if end == 0 {
		return s
	}
	return b.String() + s[end:]
}

func phoneByte(c byte) bool {
	return digit(c) || c == ' ' || c == '.' || c == '-' || c == '(' || c == ')' || c == '+'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func phoneRun(s string, from, to int) string {
	var b strings.Builder
	end := from
	mask := func(at []int, keep int) {
		b.WriteString(s[end : from+at[0]+keep])
		b.WriteString("[REDACTED:phone]")
		end = from + at[1]
	}
	run := s[from:to]
	if found := abroad.FindAllStringIndex(run, -1); found != nil {
		for _, at := range found {
			mask(at, 1) // the + stays
		}
	} else {
		for _, at := range athome.FindAllStringIndex(run, -1) {
			if free(s, from+at[0], from+at[1]) && !dotted(run[at[0]:at[1]]) {
				mask(at, 0)
			}
		}
	}
	b.WriteString(s[end:to])
	return b.String()
}

// free says that a number stands by itself: it is no part of an id, a version or a longer number.
func free(s string, from, to int) bool {
	part := func(i int) bool {
		if i < 0 || i >= len(s) {
			return false
		}
		c := s[i]
		return digit(c) || c == '-' || c == '_' || c == '/' || c == ':' || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
	after := part(to) && s[to] != '-' || to+1 < len(s) && (s[to] == '.' || s[to] == '-') && part(to+1)
	return !part(from-1) && !(from > 1 && s[from-1] == '.' && digit(s[from-2])) && !after
}

// dotted says whether it is an address: four numbers and three dots.
func dotted(s string) bool { return strings.Count(s, ".") == 3 && !strings.ContainsAny(s, " -()") }

// longestWrapped: longer runs of base64 are data, not one secret.
const longestWrapped = 16 << 10

// wrapped masks base64 that hides a secret.
func wrapped(s string) string {
	if len(s) < 24 {
		return s
	}
	return replaceRuns(s, func(run string) (string, bool) {
		if len(run) > longestWrapped {
			return "", false
		}
		text := unwrap(run)
		if text == "" {
			return "", false
		}
		for i := range rules {
			if r := &rules[i]; r.mask == "[REDACTED:email]" || r.whole != nil {
				continue // public addresses and numbers are in many blobs
			} else if r.hinted(text) && r.replace(text) != text {
				return mask, true
			}
		}
		return "", false
	})
}

// replaceRuns is wrapping's ReplaceAll by a scan: long text is mostly not base64.
func replaceRuns(s string, f func(string) (string, bool)) string {
	var b strings.Builder
	end := 0
	for i := 0; i < len(s); {
		from := i
		for i < len(s) && base64Byte(s[i]) {
			i++
		}
		if i-from >= 24 {
			for pad := 0; pad < 2 && i < len(s) && s[i] == '='; pad++ {
				i++
			}
			if with, ok := f(s[from:i]); ok {
				b.WriteString(s[end:from])
				b.WriteString(with)
				end = i
			}
		}
		if i == from {
			i++
		}
	}
	if end == 0 {
		return s
	}
	return b.String() + s[end:]
}

func base64Byte(c byte) bool {
	return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '+' || c == '/' || c == '_' || c == '-'
}

// unwrap decodes base64 text; empty when it is none.
func unwrap(run string) string {
	enc := base64.RawStdEncoding
	if strings.ContainsAny(run, "_-") {
		enc = base64.RawURLEncoding
	}
	raw, err := enc.DecodeString(strings.TrimRight(run, "="))
	if err != nil || !utf8.Valid(raw) {
		return ""
	}
	for _, c := range raw {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return ""
		}
	}
	return string(raw)
}
