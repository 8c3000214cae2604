package lang

import "strings"

// Truncate shortens a text to n characters, the last three of which are dots.
func Truncate(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return string(r)
}

// TrimAll trims the texts of a list and removes empty ones.
func TrimAll(list []string) (out []string) {
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Words splits a text at white space outside of quotes. A quoted word may be empty and span lines.
func Words(s string) (out []string, err error) {
	var b strings.Builder
	in, quote := false, rune(0)
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if in {
				out = append(out, b.String())
				b.Reset()
				in = false
			}
		default:
			b.WriteRune(r)
			in = true
		}
	}
	if quote != 0 {
		return nil, Errorf(InvalidPayload, "unclosed %c", quote)
	}
	if in {
		out = append(out, b.String())
	}
	return out, nil
}
