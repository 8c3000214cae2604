package lang

import "strings"

// Each is the list of f's results for every item.
func Each[T, U any](items []T, f func(T) U) []U {
	out := make([]U, len(items))
	for i, x := range items {
		out[i] = f(x)
	}
	return out
}

// Words splits at whitespace, except within quotes; a quoted word may be empty and span lines.
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
		return nil, Failf(InvalidPayload, "unclosed %c", quote)
	}
	if in {
		out = append(out, b.String())
	}
	return out, nil
}
