package serve

import "encoding/json"

// Fields are the members of a JSON object, each as it came. A member of another type than the reader asks for counts as
// absent.
type Fields map[string]json.RawMessage

// Text is a member that is a string.
func (f Fields) Text(name string) (s string, ok bool) {
	raw := f[name]
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// Flag is a member that is true or false; def, when it is neither.
func (f Fields) Flag(name string, def bool) bool {
	switch string(f[name]) {
	case "true":
		return true
	case "false":
		return false
	}
	return def
}
