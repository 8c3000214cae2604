package redact

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// Phone numbers. With a country code and +, separators are optional; without it they are required.
var (
	internationalPhone = expression(`\+(\d{1,3}[ .-]?(?:\(\d{1,4}\)|\d{1,4})[ .-]?\d{2,4}(?:[ .-]?\d{2,4}){1,3})`)
	nationalPhone      = expression(`(?:\d{1,3}[ .-])?(?:\(\d{2,4}\)[ .-]?|\d{2,4}[ .-])\d{3,4}[ .-]\d{3,4}`)
)

// maskPhones masks phone numbers. It examines only runs of the characters that occur in phone numbers.
func maskPhones(s string) string {
	e := edits{s: s}
	for from, to := range runs(s, phoneByte) {
		digits := 0
		for _, c := range []byte(s[from:to]) {
			if digit(c) {
				digits++
			}
		}
		if digits >= 8 && to-from <= 4096 {
			maskPhoneRun(&e, from, to)
		}
	}
	return e.String()
}

func phoneByte(c byte) bool {
	return digit(c) || c == ' ' || c == '.' || c == '-' || c == '(' || c == ')' || c == '+'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func maskPhoneRun(e *edits, from, to int) {
	const mask = "[REDACTED:phone]"
	run := e.s[from:to]
	found := internationalPhone().FindAllStringIndex(run, -1)
	for _, at := range found {
		e.replace(from+at[0]+1, from+at[1], mask) // keep the +
	}
	if found != nil {
		return
	}
	for _, at := range nationalPhone().FindAllStringIndex(run, -1) {
		if isStandalone(e.s, from+at[0], from+at[1]) && !isIPv4(run[at[0]:at[1]]) {
			e.replace(from+at[0], from+at[1], mask)
		}
	}
}

// isStandalone reports whether a number is not part of an id, a version or a longer number.
func isStandalone(s string, from, to int) bool {
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

// isIPv4 reports whether a text of digits looks like an IPv4 address: four numbers separated by dots.
func isIPv4(s string) bool { return strings.Count(s, ".") == 3 && !strings.ContainsAny(s, " -()") }

// maxBase64Run is the maximum length of base64 to examine. Longer runs are data, not one secret.
const maxBase64Run = 16 << 10

// maskBase64 masks base64 that encodes a text with a secret.
func maskBase64(s string) string {
	e := edits{s: s}
	for from, to := range runs(s, base64Byte) {
		if to-from < 24 {
			continue
		}
		for pad := 0; pad < 2 && to < len(s) && s[to] == '='; pad++ {
			to++
		}
		if hidesSecret(s[from:to]) {
			e.replace(from, to, mask)
		}
	}
	return e.String()
}

// hidesSecret reports whether base64 encodes a text with a secret.
func hidesSecret(run string) bool {
	if len(run) > maxBase64Run {
		return false
	}
	text := decodeBase64(run)
	for i := range rules {
		if r := &rules[i]; r.mask == "[REDACTED:email]" || r.redactText != nil {
			continue // ignore mail addresses and numbers, which are in many blobs
		} else if r.hinted(text) && r.replace(text) != text {
			return true
		}
	}
	return false
}

func base64Byte(c byte) bool {
	return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '+' || c == '/' || c == '_' || c == '-'
}

// decodeBase64 decodes base64 to text; blank if it is not base64 or not printable text.
func decodeBase64(run string) string {
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
