package edit

import (
	"bytes"
	"strings"
)

// Block edits prose, such as Markdown. An entry is the lines between two markers that contain the entry's name.
type Block struct{}

func markers(e Entry) (begin, end string) {
	return "<!-- " + e.String() + ": begin -->\n", "<!-- " + e.String() + ": end -->\n"
}

func (e Entry) withMarkers() string {
	begin, end := markers(e)
	return begin + strings.TrimRight(e.Value, "\n") + "\n" + end
}

// Find implements Format.
func (Block) Find(doc []byte, e Entry) (taken, same bool, err error) {
	begin, _ := markers(e)
	unix := bytes.ReplaceAll(doc, []byte("\r\n"), []byte("\n"))
	return bytes.Contains(unix, []byte(begin)), bytes.Contains(unix, []byte(e.withMarkers())), nil
}

// Put implements Format. It appends the block.
func (Block) Put(doc []byte, e Entry) ([]byte, Trace, error) {
	out, t := appendText(doc, e.withMarkers())
	return out, t, nil
}

// Remove implements Format.
func (Block) Remove(doc []byte, e Entry, t Trace) ([]byte, error) {
	return cutText(doc, e, e.withMarkers(), t)
}

// File edits files that consist of one entry.
type File struct{}

// Find implements Format.
func (File) Find(doc []byte, e Entry) (taken, same bool, err error) {
	return len(doc) > 0, string(doc) == e.Value, nil
}

// Put implements Format.
func (File) Put(_ []byte, e Entry) ([]byte, Trace, error) { return []byte(e.Value), Trace{}, nil }

// Remove implements Format.
func (File) Remove([]byte, Entry, Trace) ([]byte, error) { return nil, nil }
