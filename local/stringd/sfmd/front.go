package sfmd

import (
	"fmt"
	"strconv"
	"strings"
)

// Front is a front matter: strings, lists of strings ([]string) and lists of one-key maps, whose items are flattened to
// "key: value".
type Front map[string]any

// Text is a key's value when it is a scalar.
func (f Front) Text(key string) string {
	s, _ := f[key].(string)
	return s
}

// List is a key's value as a list; a scalar is a list of one.
func (f Front) List(key string) []string {
	switch v := f[key].(type) {
	case []string:
		return v
	case string:
		if v != "" {
			return []string{v}
		}
	}
	return nil
}

// parseFront reads the part of YAML that front matter uses.
func parseFront(lines []string) (Front, error) {
	f := Front{}
	key := ""
	for n, raw := range lines {
		t := strings.TrimSpace(raw)
		if t == "" || strings.HasPrefix(t, "#") {
			continue
		}
		if item, ok := strings.CutPrefix(t, "-"); ok && (item == "" || item[0] == ' ') {
			if key == "" {
				return nil, fmt.Errorf("line %d: a list without a key", n+2)
			}
			have, ok := f[key].([]string)
			if !ok && f[key] != "" {
				return nil, fmt.Errorf("line %d: %s has a value and a list", n+2, key)
			}
			v, err := scalar(strings.TrimSpace(item))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+2, err)
			}
			f[key] = append(have, v)
			continue
		}
		if raw[0] == ' ' || raw[0] == '\t' { // a value that goes deeper than this protocol reads
			if key == "" {
				return nil, fmt.Errorf("line %d: indented", n+2)
			}
			continue
		}
		k, v, ok := strings.Cut(t, ":")
		if !ok || v != "" && v[0] != ' ' {
			return nil, fmt.Errorf("line %d: want key: value", n+2)
		}
		key = unquoted(strings.TrimSpace(k))
		value, err := value(strings.TrimSpace(v))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+2, err)
		}
		f[key] = value
	}
	return f, nil
}

func value(v string) (any, error) {
	inner, ok := strings.CutPrefix(v, "[")
	if !ok {
		return scalar(v)
	}
	inner, ok = strings.CutSuffix(inner, "]")
	if !ok {
		return nil, fmt.Errorf("unclosed list")
	}
	list := []string{}
	for p := range strings.SplitSeq(inner, ",") {
		if p = strings.TrimSpace(p); p != "" {
			list = append(list, unquoted(p))
		}
	}
	return list, nil
}

func scalar(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	switch v[0] {
	case '"':
		end := strings.LastIndexByte(v, '"')
		if s, err := strconv.Unquote(v[:end+1]); err == nil {
			return s, nil
		}
		return "", fmt.Errorf("bad string %s", v)
	case '\'':
		if end := strings.LastIndexByte(v, '\''); end > 0 {
			return strings.ReplaceAll(v[1:end], "''", "'"), nil
		}
		return "", fmt.Errorf("bad string %s", v)
	case '{', '&', '*', '%', '@', '`':
		return "", fmt.Errorf("unsupported value %s", v)
	}
	if i := strings.Index(v, " #"); i >= 0 {
		v = strings.TrimSpace(v[:i])
	}
	return v, nil
}

func unquoted(s string) string {
	if v, err := scalar(s); err == nil {
		return v
	}
	return s
}
