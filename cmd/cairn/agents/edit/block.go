package edit

import (
	"bytes"
	"strings"
)

// Block edits text that people and models read, Markdown above all. An entry is the lines between two marks, which
// carry the name of its place.
type Block struct{}

func marks(e Entry) (begin, end string) {
	return "<!-- " + e.String() + ": begin -->\n", "<!-- " + e.String() + ": end -->\n"
}

func (e Entry) marked() string {
	begin, end := marks(e)
	return begin + strings.TrimRight(e.Value, "\n") + "\n" + end
}

// Find implements Format.
func (Block) Find(doc []byte, e Entry) (taken, same bool, err error) {
	begin, _ := marks(e)
	unix := bytes.ReplaceAll(doc, []byte("\r\n"), []byte("\n"))
	return bytes.Contains(unix, []byte(begin)), bytes.Contains(unix, []byte(e.marked())), nil
}

// Put implements Format: the block goes to the end.
func (Block) Put(doc []byte, e Entry) ([]byte, Trace, error) {
	out, t := appendText(doc, e.marked())
	return out, t, nil
}

// Drop implements Format.
func (Block) Drop(doc []byte, e Entry, t Trace) ([]byte, error) {
	return cutText(doc, e, e.marked(), t)
}

// File writes whole files: the entry is all of the text.
type File struct{}

// Find implements Format.
func (File) Find(doc []byte, e Entry) (taken, same bool, err error) {
	return len(doc) > 0, string(doc) == e.Value, nil
}

// Put implements Format.
func (File) Put(_ []byte, e Entry) ([]byte, Trace, error) { return []byte(e.Value), Trace{}, nil }

// Drop implements Format.
func (File) Drop([]byte, Entry, Trace) ([]byte, error) { return nil, nil }
