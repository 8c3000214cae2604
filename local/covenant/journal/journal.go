// Package journal is files of lines that only grow: the mailbox, the tokens and the audit log of one node lie in such
// files.
//
// A File is the bytes: each line is sealed on a node that encrypts, lines are appended all or none, and a file may be
// replaced by a new one. A Journal is a File whose lines are JSON values of one type: it is replayed when it is opened,
// and values that are committed to it are on disk before Commit returns.
//
// A line that a crash tore has no newline. Replay cuts it off, for no client was ever answered for it; audit, whose two
// files must agree, looks at both first. Neither a File nor a Journal has a lock: their owners have. One process has a
// file.
package journal

import (
	"errors"
	"io"
	"iter"
	"os"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog/seal"
)

// MaxLine is far above any line of ours: a request's text can be no longer than its frame.
const MaxLine = 64 << 20

// gathered is the size of a write when a file is rewritten.
const gathered = 64 << 10

// File is a file of lines, open for more.
type File struct {
	path, place string
	keys        *seal.Ring // what lines are sealed with; nil: they are not
	file        *os.File
	size        int64 // bytes written
	gather      int   // Append writes when it has so many bytes
	buf         []byte
	broken      error // a write failed and could not be taken back: nothing is promised any more
}

// Open opens a file, and makes it when it is missing. Its lines are sealed for a place: lines of another file do not
// open in it.
func Open(path, place string, keys *seal.Ring) (*File, error) {
	return open(&File{path: path, place: place, keys: keys}, 0)
}

// Create makes a file, or empties the one that is there. Its lines are gathered, and written whole when Flush returns.
func Create(path, place string, keys *seal.Ring) (*File, error) {
	return open(&File{path: path, place: place, keys: keys, gather: gathered}, os.O_TRUNC)
}

func open(f *File, flag int) (_ *File, err error) {
	if f.file, err = os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND|flag, 0o600); err != nil {
		return nil, err
	}
	info, err := f.file.Stat()
	if err != nil {
		return nil, errors.Join(err, f.file.Close())
	}
	f.size = info.Size()
	return f, nil
}

// Size returns the file's size in bytes.
func (f *File) Size() int64 { return f.size }

// Lines are the lines of a file as they are stored (see kit.Lines).
func Lines(r io.ReaderAt) iter.Seq2[[]byte, error] {
	return kit.Lines(io.NewSectionReader(r, 0, 1<<62), MaxLine)
}

// Lines returns the lines of the file as it is now.
func (f *File) Lines() iter.Seq2[[]byte, error] { return Lines(f.file) }

// Append writes lines behind the others. When one cannot be written, none is.
func (f *File) Append(lines ...[]byte) error {
	for _, l := range lines {
		f.buf = append(append(f.buf, f.keys.Line(l, f.place)...), '\n')
	}
	if len(f.buf) < f.gather {
		return nil
	}
	return f.Flush()
}

// Flush writes the lines that Append has gathered.
func (f *File) Flush() error {
	b := f.buf
	if f.buf = b[:0]; cap(b) > 2*gathered {
		f.buf = nil // one large line costs no memory for ever
	}
	if f.broken != nil {
		return f.broken
	}
	if _, err := f.file.Write(b); err != nil {
		return errors.Join(err, f.Cut(f.size))
	}
	f.size += int64(len(b))
	return nil
}

// Cut takes back the lines behind a size.
func (f *File) Cut(size int64) error {
	if f.broken = f.file.Truncate(size); f.broken == nil {
		f.size = size
	}
	return f.broken
}

// Sync brings the written lines to the disk. It may be called during any other method.
func (f *File) Sync() error { return f.file.Sync() }

// Changed reports whether another process has written to the file, or has put another one in its place.
func (f *File) Changed() (bool, error) {
	there, err := os.Stat(f.path)
	if err != nil {
		return false, err
	}
	ours, err := f.file.Stat()
	return err == nil && (there.Size() != f.size || !os.SameFile(there, ours)), err
}

// Rename moves the file to a path, in place of the one that is there.
func (f *File) Rename(path string) error {
	err := os.Rename(f.path, path)
	if err == nil {
		f.path, f.gather = path, 0
	}
	return err
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Discard closes and removes the file.
func (f *File) Discard() error { return errors.Join(f.file.Close(), os.Remove(f.path)) }
