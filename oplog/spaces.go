package oplog

import "strings"

// Spaces bind a token to namespaces, by prefixes of whole segments: agents/billing is the namespace of that name and
// all that begin with agents/billing/, and not agents/billing2. None bind to nothing.
type Spaces []string

// Has reports whether a namespace is among them.
func (s Spaces) Has(namespace string) bool {
	for _, p := range s {
		if rest, ok := strings.CutPrefix(namespace, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return len(s) == 0
}

// Bind reports whether they bind at all.
func (s Spaces) Bind() bool { return len(s) > 0 }

// First is the first of them; blank where they do not bind.
func (s Spaces) First() string {
	if !s.Bind() {
		return ""
	}
	return s[0]
}

// String names the prefixes for people.
func (s Spaces) String() string { return strings.Join(s, "/, ") + "/" }

// A Reach says which namespaces a request is about: Name alone, or where that is blank all that Within has.
type Reach struct {
	Name   string
	Within Spaces
}

// Has reports whether a namespace is within reach.
func (r Reach) Has(namespace string) bool {
	return (r.Name == "" || r.Name == namespace) && r.Within.Has(namespace)
}

// All reports whether every namespace is.
func (r Reach) All() bool { return r.Name == "" && !r.Within.Bind() }
