package edit

import (
	"bytes"
	"encoding/json"

	"github.com/cairndb/cairn/local/kit"
)

// A value is the position of a JSON value in a text.
type value struct {
	start, end int
	kind       byte     // '{', '[', or 0
	members    []member // of an object or a list
}

// A member is a value in an object or a list.
type member struct {
	name  string // blank in a list
	start int    // of the name; in a list, of the value
	value value
	comma int // offset of the comma after it; -1 for none
}

// maxDepth bounds the nesting of values.
const maxDepth = 1000

// parser parses JSON with comments and trailing commas.
type parser struct {
	doc   []byte
	at    int
	depth int
}

// parse returns the root value of a text. A blank text has no root.
func parse(doc []byte) (root value, blank bool, err error) {
	p := &parser{doc: doc}
	if bytes.HasPrefix(doc, []byte("\uFEFF")) {
		p.at = 3
	}
	if err := p.skip(); err != nil {
		return root, false, err
	}
	if p.at == len(doc) {
		return root, true, nil
	}
	if root, err = p.value(); err != nil {
		return root, false, err
	}
	if err := p.skip(); err != nil {
		return root, false, err
	}
	if p.at < len(doc) {
		return root, false, p.fail("unexpected %q after the value", doc[p.at])
	}
	return root, false, nil
}

func (p *parser) fail(format string, args ...any) error { return errorAt(p.doc, p.at, format, args...) }

func (p *parser) peek() byte {
	if p.at < len(p.doc) {
		return p.doc[p.at]
	}
	return 0
}

// skip moves past blanks and comments.
func (p *parser) skip() error {
	for p.at < len(p.doc) {
		rest := p.doc[p.at:]
		switch {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n' || rest[0] == '\r':
			p.at++
		case bytes.HasPrefix(rest, []byte("//")):
			if end := bytes.IndexByte(rest, '\n'); end >= 0 {
				p.at += end
			} else {
				p.at = len(p.doc)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return p.fail("a comment without an end")
			}
			p.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (p *parser) value() (v value, err error) {
	v.start = p.at
	switch c := p.peek(); {
	case c == '{' || c == '[':
		if p.depth++; p.depth > maxDepth {
			return v, p.fail("nested too deep")
		}
		v.kind = c
		v.members, err = p.members(c)
		p.depth--
	case c == '"':
		_, err = p.text()
	case p.at == len(p.doc):
		err = p.fail("a value is missing")
	default:
		end := p.at
		for end < len(p.doc) && !bytes.ContainsRune([]byte(" \t\r\n,:{}[]\"/"), rune(p.doc[end])) {
			end++
		}
		if !json.Valid(p.doc[p.at:end]) {
			return v, p.fail("not a value")
		}
		p.at = end
	}
	v.end = p.at
	return v, err
}

// members parses an object or a list, from its opening to its closing bracket.
func (p *parser) members(open byte) (all []member, err error) {
	p.at++
	for {
		if err := p.skip(); err != nil {
			return nil, err
		}
		if c := p.peek(); c == open+2 { // in ASCII, } is { + 2, and ] is [ + 2
			p.at++
			return all, nil
		}
		if n := len(all); n > 0 && all[n-1].comma < 0 {
			return nil, p.fail("a comma or %q is missing", open+2)
		}
		m := member{start: p.at, comma: -1}
		if open == '{' {
			if p.peek() != '"' {
				return nil, p.fail("a name in quotes or %q is missing", open+2)
			}
			if m.name, err = p.text(); err != nil {
				return nil, err
			}
			if err := p.skip(); err != nil {
				return nil, err
			}
			if p.peek() != ':' {
				return nil, p.fail("a colon is missing")
			}
			p.at++
			if err := p.skip(); err != nil {
				return nil, err
			}
		}
		if m.value, err = p.value(); err != nil {
			return nil, err
		}
		if err := p.skip(); err != nil {
			return nil, err
		}
		if p.peek() == ',' {
			m.comma = p.at
			p.at++
		}
		all = append(all, m)
	}
}

// text parses a string.
func (p *parser) text() (s string, err error) {
	for end := p.at + 1; end < len(p.doc); end++ {
		switch p.doc[end] {
		case '\\':
			end++
		case '"':
			if json.Unmarshal(p.doc[p.at:end+1], &s) != nil {
				return "", p.fail("not a string")
			}
			p.at = end + 1
			return s, nil
		}
	}
	return "", p.fail("a string without an end")
}

// plain returns the value's JSON without comments and blanks between values.
func (v value) plain(doc []byte) []byte {
	if v.kind == 0 {
		return doc[v.start:v.end]
	}
	out := []byte{v.kind}
	for i, m := range v.members {
		if i > 0 {
			out = append(out, ',')
		}
		if v.kind == '{' {
			out = append(append(out, kit.MustJSON(m.name)...), ':')
		}
		out = append(out, m.value.plain(doc)...)
	}
	return append(out, v.kind+2)
}

// child returns the index of an object's last member with a name; -1 for none.
func (v value) child(name string) int {
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].name == name {
			return i
		}
	}
	return -1
}
