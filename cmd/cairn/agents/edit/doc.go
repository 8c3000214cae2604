// Package edit adds an entry to the text of a user's configuration file, and removes it again. It edits the text
// instead of encoding it again, so comments, order, indentation, line ends and all other entries stay unchanged. It
// supports JSON with comments, TOML, and text with a marked block. It reads and writes no files.
//
// An Entry has a place and a value. Put returns a Trace of the containers and line ends that it had to add around the
// entry. Remove needs the Trace to restore the text before Put, byte for byte.
package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// A Format edits texts of one format.
type Format interface {
	// Find reports whether the entry's place has a value, and whether that is the entry's value.
	Find(doc []byte, e Entry) (taken, same bool, err error)
	// Put adds an entry whose place has no value.
	Put(doc []byte, e Entry) ([]byte, Trace, error)
	// Remove removes an entry that Put added.
	Remove(doc []byte, e Entry, t Trace) ([]byte, error)
}

// Formats maps names to formats.
var Formats = map[string]Format{"json": JSON{}, "toml": TOML{}, "block": Block{}, "file": File{}}

// An Entry is a value at a place in a text.
type Entry struct {
	At    []string `json:"at,omitempty"`   // path of names from the root
	List  bool     `json:"list,omitempty"` // At names a list, and the entry is an element of it
	Value string   `json:"value"`          // in the file's own format
}

func (e Entry) String() string { return strings.Join(e.At, ".") }

// A Trace records what Put added around the entry.
type Trace struct {
	Made    int  `json:"made,omitempty"`    // number of containers added around the entry, the root included
	Wrapped bool `json:"wrapped,omitempty"` // a line end was added
}

// An Error reports a text that is malformed or cannot be edited. Lines and columns start at 1.
type Error struct {
	Line, Column int
	Text         string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// errorAt returns an Error at an offset.
func errorAt(doc []byte, at int, format string, args ...any) error {
	before := doc[:min(at, len(doc))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	return &Error{Line: line, Column: len(before) - bytes.LastIndexByte(before, '\n'), Text: fmt.Sprintf(format, args...)}
}

// lineEnd returns the line end of a text's first line; a line feed if it has none.
func lineEnd(doc []byte) string {
	if i := bytes.IndexByte(doc, '\n'); i > 0 && doc[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// splice replaces doc[from:to].
func splice(doc []byte, from, to int, with string) []byte {
	out := append(make([]byte, 0, len(doc)+len(with)), doc[:from]...)
	return append(append(out, with...), doc[to:]...)
}

// precedingLineEnd moves an offset back over blanks and then over one line end.
func precedingLineEnd(doc []byte, at int) int {
	for at > 0 && (doc[at-1] == ' ' || doc[at-1] == '\t') {
		at--
	}
	if at > 0 && doc[at-1] == '\n' {
		at--
		if at > 0 && doc[at-1] == '\r' {
			at--
		}
	}
	return at
}
