package oplog

import "strings"

// Spaces bind a token to namespaces, by prefixes of whole segments: agents/billing is the namespace of that name and
// all that begin with agents/billing/, and not agents/billing2. None bind to nothing.
type Spaces []string

// Has reports whether a namespace is in one of the prefixes, or there are none.
func (s Spaces) Has(namespace string) bool {
	for _, p := range s {
		if rest, ok := strings.CutPrefix(namespace, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return len(s) == 0
}

// Bind reports whether there are any prefixes.
func (s Spaces) Bind() bool { return len(s) > 0 }

// First returns the first prefix; blank if there are none.
func (s Spaces) First() string {
	if !s.Bind() {
		return ""
	}
	return s[0]
}

// String names the prefixes for people.
func (s Spaces) String() string { return strings.Join(s, "/, ") + "/" }

// A Reach selects namespaces for a request: Name alone, or, if that is blank, all in Within.
type Reach struct {
	Name   string
	Within Spaces
}

// Has reports whether a namespace is within reach.
func (r Reach) Has(namespace string) bool {
	return (r.Name == "" || r.Name == namespace) && r.Within.Has(namespace)
}

// All reports whether every namespace is within reach.
func (r Reach) All() bool { return r.Name == "" && !r.Within.Bind() }
