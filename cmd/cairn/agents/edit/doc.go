// Package edit puts an entry into a configuration file that a person keeps, and takes it out again. It changes the
// text and encodes nothing again: comments, order, indentation, line ends and all other entries stay as they are. It
// knows JSON with comments, TOML, and text with a marked block. It reads and writes no file.
//
// An Entry has a place and a value. Put returns a Trace with the text, and Drop needs it: what Put had to make around
// the entry goes with it, so that Drop gives back the text that Put was given, byte for byte.
package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// A Format is one way in which entries stand in a text.
type Format interface {
	// Find reports whether the entry's place is taken, and whether by the entry's own value.
	Find(doc []byte, e Entry) (taken, same bool, err error)
	// Put adds an entry whose place is not taken.
	Put(doc []byte, e Entry) ([]byte, Trace, error)
	// Drop removes an entry that Put added.
	Drop(doc []byte, e Entry, t Trace) ([]byte, error)
}

// Formats are the formats by name.
var Formats = map[string]Format{"json": JSON{}, "toml": TOML{}, "block": Block{}, "file": File{}}

// An Entry is one thing in a file.
type Entry struct {
	At    []string `json:"at,omitempty"`   // names of the objects or tables down to it
	List  bool     `json:"list,omitempty"` // At names a list, and the entry is an element of it
	Value string   `json:"value"`          // in the file's own format
}

func (e Entry) String() string { return strings.Join(e.At, ".") }

// A Trace says what Put made besides the entry.
type Trace struct {
	Made    int  `json:"made,omitempty"`    // containers around the entry that were not there, the root among them
	Wrapped bool `json:"wrapped,omitempty"` // a line end
}

// An Error is a text that is not in its format, or cannot be changed. Lines and columns begin with 1.
type Error struct {
	Line, Column int
	Text         string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// errorAt is an error at an offset.
func errorAt(doc []byte, at int, format string, args ...any) error {
	before := doc[:min(at, len(doc))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	return &Error{Line: line, Column: len(before) - bytes.LastIndexByte(before, '\n'), Text: fmt.Sprintf(format, args...)}
}

// lineEnd is the line end of a text: that of its first line.
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

// lineStart goes back from an offset over blanks, and over one line end before them.
func lineStart(doc []byte, at int) int {
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
