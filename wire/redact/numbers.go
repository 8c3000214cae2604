package redact

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// A phone number: with a country's + the separators may be missing, without it they must be there.
var (
	abroad = expression(`\+(\d{1,3}[ .-]?(?:\(\d{1,4}\)|\d{1,4})[ .-]?\d{2,4}(?:[ .-]?\d{2,4}){1,3})`)
	athome = expression(`(?:\d{1,3}[ .-])?(?:\(\d{2,4}\)[ .-]?|\d{2,4}[ .-])\d{3,4}[ .-]\d{3,4}`)
)

// phones masks phone numbers. Only runs of the characters these are written in are looked at.
func phones(s string) string {
	e := edits{s: s}
	for from, to := range runs(s, phoneByte) {
		digits := 0
		for _, c := range []byte(s[from:to]) {
			if digit(c) {
				digits++
			}
		}
		if digits >= 8 && to-from <= 4096 {
			phoneRun(&e, from, to)
		}
	}
	return e.String()
}

func phoneByte(c byte) bool {
	return digit(c) || c == ' ' || c == '.' || c == '-' || c == '(' || c == ')' || c == '+'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func phoneRun(e *edits, from, to int) {
	const mask = "[REDACTED:phone]"
	run := e.s[from:to]
	found := abroad().FindAllStringIndex(run, -1)
	for _, at := range found {
		e.replace(from+at[0]+1, from+at[1], mask) // the + stays
	}
	if found != nil {
		return
	}
	for _, at := range athome().FindAllStringIndex(run, -1) {
		if free(e.s, from+at[0], from+at[1]) && !dotted(run[at[0]:at[1]]) {
			e.replace(from+at[0], from+at[1], mask)
		}
	}
}

// free says that a number is not part of an id, a version or a longer number.
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

// dotted reports whether it is an address: four numbers and three dots.
func dotted(s string) bool { return strings.Count(s, ".") == 3 && !strings.ContainsAny(s, " -()") }

// longestWrapped: longer runs of base64 are data, not one secret.
const longestWrapped = 16 << 10

// wrapped masks base64 that hides a secret.
func wrapped(s string) string {
	e := edits{s: s}
	for from, to := range runs(s, base64Byte) {
		if to-from < 24 {
			continue
		}
		for pad := 0; pad < 2 && to < len(s) && s[to] == '='; pad++ {
			to++
		}
		if hides(s[from:to]) {
			e.replace(from, to, mask)
		}
	}
	return e.String()
}

// hides reports whether base64 has a secret in it.
func hides(run string) bool {
	if len(run) > longestWrapped {
		return false
	}
	text := unwrap(run)
	for i := range rules {
		if r := &rules[i]; r.mask == "[REDACTED:email]" || r.whole != nil {
			continue // public addresses and numbers are in many blobs
		} else if r.hinted(text) && r.replace(text) != text {
			return true
		}
	}
	return false
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
