// Package redact removes secrets from text before it leaves memory: before it is logged, proposed, stored, indexed or
// shown. String works on text; JSON works on decoded values, where a key such as "password" also marks its value.
//
// A secret is replaced by a mask with its kind, [REDACTED:kind]; a bearer token by "Bearer [REDACTED]". Masks are
// stable: tools search for them, and redacting twice changes nothing. The rules are a table (rules.go), applied in
// order, each to the result of the previous one. The rules are heuristics. Where a key names a secret they mask too
// much rather than too little. They keep ids, times, addresses and bare numbers, because users recall these.
//
// Everything here is a pure function, safe for any number of goroutines, and linear in the length of its input. The
// node calls it for what it stores, and a dialect for what it writes to its own journal.
package redact

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/wire/large"
)

const mask = "[REDACTED:secret]"

// Found counts the redacted secrets by kind. Its methods redact like the functions, and count; a nil Found does not
// count.
type Found map[string]int

// Kinds returns the kinds, sorted; nil if nothing was redacted.
func (f Found) Kinds() []string {
	if len(f) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(f))
}

// countNewMasks counts the masks in after that are not in before.
func (f Found) countNewMasks(before, after string) {
	if f == nil {
		return
	}
	const head = "[REDACTED"
	was := map[string]int{}
	count := func(s string, in map[string]int) {
		for {
			_, rest, ok := strings.Cut(s, head)
			kind, more, closed := strings.Cut(rest, "]")
			if !ok || !closed {
				return
			}
			s = more
			if kind = strings.TrimPrefix(kind, ":"); kind == "" {
				kind = "bearer"
			}
			in[kind]++
		}
	}
	count(before, was)
	now := map[string]int{}
	count(after, now)
	for kind, n := range now {
		if more := n - was[kind]; more > 0 {
			f[kind] += more
		}
	}
}

// String redacts text.
func String(s string) string {
	if len(s) < minSecretLength {
		return s
	}
	for i := range rules {
		s = rules[i].apply(s)
	}
	return maskBase64(s)
}

// minSecretLength is the minimum length of a text that any rule can match.
const minSecretLength = 5

// Text redacts text that may be JSON or end in JSON, such as a tool's output.
func (f Found) Text(s string) string {
	clean := s
	if i := strings.IndexAny(s, "{["); i >= 0 && json.Valid([]byte(s[i:])) {
		clean = s[:i] + redactEmbeddedJSON(s[i:])
	}
	clean = String(clean)
	f.countNewMasks(s, clean)
	return clean
}

// JSON redacts a decoded JSON value: all strings and object keys at any depth. It reports whether it redacted
// anything. It does not modify v; the result shares the parts without secrets. Keys that become equal are numbered,
// in the order of the original keys.
func JSON(v any) (clean any, differs bool) { return Found(nil).JSON(v) }

// JSON redacts like the function JSON, and counts.
func (f Found) JSON(v any) (clean any, differs bool) { return f.value(v, false) }

// Raw redacts JSON text. It returns text without secrets unchanged, and redacts text that is not JSON as plain text.
func (f Found) Raw(raw []byte) []byte {
	v, err := large.JSON(raw)
	if err != nil {
		return []byte(f.Text(string(raw)))
	}
	clean, differs := f.JSON(v)
	if !differs {
		return raw
	}
	b, err := json.Marshal(clean)
	if err != nil {
		return []byte(strconv.Quote(mask))
	}
	return b
}

// value redacts v. secret reports that its key names a secret, so a string is masked completely.
func (f Found) value(v any, secret bool) (clean any, differs bool) {
	switch v := v.(type) {
	case string:
		s := mask
		if !secret || v == "" || strings.HasPrefix(v, "[REDACTED") || strings.HasPrefix(v, "Bearer [REDACTED") {
			s = String(redactEmbeddedJSON(v))
		}
		if s == v {
			return v, false
		}
		f.countNewMasks(v, s)
		return s, true
	case []any:
		return f.list(v, secret)
	case map[string]any:
		return f.object(v)
	default:
		return v, false
	}
}

// redactEmbeddedJSON redacts a string that contains JSON, because escapes in JSON could hide a secret from the rules.
// It returns other texts, and texts without a secret, unchanged.
func redactEmbeddedJSON(s string) string {
	if t := strings.TrimLeft(s, " \t\r\n"); t == "" || t[0] != '{' && t[0] != '[' {
		return s
	}
	v, err := large.JSON([]byte(s))
	if err != nil {
		return s
	}
	clean, differs := JSON(v)
	if !differs {
		return s
	}
	b, err := json.Marshal(clean)
	if err != nil {
		return mask
	}
	return string(b)
}

func (f Found) list(v []any, secret bool) (clean []any, differs bool) {
	clean = v
	flag := false // the previous item is a flag whose argument is a secret
	key := false  // inside a PEM key, in a text given as a list of lines
	for i, x := range v {
		y, other := f.value(x, secret || flag)
		s, ok := x.(string)
		if begin := strings.LastIndex(s, "-----BEGIN "); key && ok {
			y, other = "[REDACTED:pem]", true
			f.countNewMasks("", "[REDACTED:pem]")
			key = !strings.Contains(s, "-----END ")
		} else if begin >= 0 && strings.Contains(s[begin:], "PRIVATE KEY") {
			key = !strings.Contains(s[begin:], "-----END ")
		}
		flag = ok && strings.HasPrefix(s, "-") && !strings.Contains(s, "=") && namesSecret(s)
		if other && !differs {
			clean, differs = slices.Clone(v), true
		}
		if other {
			clean[i] = y
		}
	}
	return clean, differs
}

func (f Found) object(v map[string]any) (clean map[string]any, differs bool) {
	named := false // {"name": "DB_PASSWORD", "value": …}
	for _, k := range []string{"name", "key", "Name", "Key"} {
		s, ok := v[k].(string)
		named = named || ok && namesSecret(s)
	}
	numbers := map[string]int{}
	sorted := slices.Sorted(maps.Keys(v))
	for i, k := range sorted {
		y, other := f.value(v[k], namesSecret(k) || named && strings.EqualFold(k, "value"))
		key := String(k)
		f.countNewMasks(k, key)
		if !differs {
			if !other && key == k {
				continue
			}
			differs, clean = true, make(map[string]any, len(v))
			for _, k := range sorted[:i] {
				clean[k] = v[k]
			}
		}
		clean[uniqueKey(clean, key, numbers)] = y
	}
	if !differs {
		return v, false
	}
	return clean, true
}

// uniqueKey returns the key, with a number as a suffix if the object has it already. numbers holds the last number of
// each key, so that many equal keys do not count from the beginning.
func uniqueKey(have map[string]any, key string, numbers map[string]int) string {
	numbered := key
	for {
		numbers[key]++
		if n := numbers[key]; n > 1 {
			numbered = key + "#" + strconv.Itoa(n)
		}
		if _, taken := have[numbered]; !taken {
			return numbered
		}
	}
}

// namesSecret reports whether the name of a key, variable or flag indicates a secret.
func namesSecret(key string) bool { return len(key) <= 128 && keyName().MatchString(key) }
