// Package redact removes secrets from text before it leaves memory: before it is logged, proposed, stored, indexed or
// shown. String works on text; JSON on decoded values, where a key like "password" tells of its value too.
//
// A secret is replaced by a mask that names its kind, [REDACTED:kind]; a bearer token by "Bearer [REDACTED]". Masks
// are stable: tools search for them, and redacting twice changes nothing. The rules are a table (rules.go), applied
// in order, each over what the one before left. None is exact. They mask too much rather than too little where a key
// names a secret, and leave ids, times, addresses and bare numbers alone, since people ask a memory for these.
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

// Found is the kinds of secrets that were taken out, and how many of each. Its methods redact as the functions do,
// and count; a nil one does not count.
type Found map[string]int

// Kinds lists the kinds by name; nil when nothing was taken out.
func (f Found) Kinds() []string {
	if len(f) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(f))
}

// note counts the masks that a text has more than before.
func (f Found) note(before, after string) {
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
	if len(s) < shortest {
		return s
	}
	for i := range rules {
		s = rules[i].apply(s)
	}
	return wrapped(s)
}

// shortest is the length under which no rule can match: "pw=x" needs its name.
const shortest = 5

// Text redacts text that may be JSON itself, or end in it, as what a tool said does.
func (f Found) Text(s string) string {
	clean := s
	if i := strings.IndexAny(s, "{["); i >= 0 && json.Valid([]byte(s[i:])) {
		clean = s[:i] + inner(s[i:])
	}
	clean = String(clean)
	f.note(s, clean)
	return clean
}

// JSON redacts a decoded JSON value: every string at any depth, and object keys, and reports whether there was
// something to redact. It does not change the value given; the result shares the parts without secrets with it. Keys
// that redaction makes equal are numbered, in the order of the original keys.
func JSON(v any) (clean any, differs bool) { return Found(nil).JSON(v) }

// JSON is the function JSON, and counts.
func (f Found) JSON(v any) (clean any, differs bool) { return f.value(v, false) }

// Raw redacts JSON text. Text without a secret stays as it is, and so does what is not JSON, which is redacted as
// text.
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

// value redacts v; secret says that its place names it one.
func (f Found) value(v any, secret bool) (clean any, differs bool) {
	switch v := v.(type) {
	case string:
		s := mask
		if !secret || v == "" || strings.HasPrefix(v, "[REDACTED") || strings.HasPrefix(v, "Bearer [REDACTED") {
			s = String(inner(v))
		}
		if s == v {
			return v, false
		}
		f.note(v, s)
		return s, true
	case []any:
		return f.list(v, secret)
	case map[string]any:
		return f.object(v)
	default:
		return v, false
	}
}

// inner redacts text that is JSON itself, whose escapes could hide what the rules look for. Text without a secret, or
// that is not JSON, stays as it is.
func inner(s string) string {
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
	flag := false // the item before is a flag whose argument is a secret
	key := false  // a key that began in an item before goes on: text as a list of lines
	for i, x := range v {
		y, other := f.value(x, secret || flag)
		s, ok := x.(string)
		if begin := strings.LastIndex(s, "-----BEGIN "); key && ok {
			y, other = "[REDACTED:pem]", true
			f.note("", "[REDACTED:pem]")
			key = !strings.Contains(s, "-----END ")
		} else if begin >= 0 && strings.Contains(s[begin:], "PRIVATE KEY") {
			key = !strings.Contains(s[begin:], "-----END ")
		}
		flag = ok && strings.HasPrefix(s, "-") && !strings.Contains(s, "=") && names(s)
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
		named = named || ok && names(s)
	}
	numbers := map[string]int{}
	sorted := slices.Sorted(maps.Keys(v))
	for i, k := range sorted {
		y, other := f.value(v[k], names(k) || named && strings.EqualFold(k, "value"))
		key := String(k)
		f.note(k, key)
		if !differs {
			if !other && key == k {
				continue
			}
			differs, clean = true, make(map[string]any, len(v))
			for _, k := range sorted[:i] {
				clean[k] = v[k]
			}
		}
		clean[unlike(clean, key, numbers)] = y
	}
	if !differs {
		return v, false
	}
	return clean, true
}

// unlike is a key that the object does not have: the key itself, or the key and a number. Numbers are the last ones
// that keys got: many keys may become one, and none is counted from the beginning.
func unlike(have map[string]any, key string, numbers map[string]int) string {
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

// names reports whether a key, variable or flag names a secret.
func names(key string) bool { return len(key) <= 128 && keyName().MatchString(key) }
