// Package journal implements append-only files of lines. The mailbox, the tokens and the audit log of a node are such
// files.
//
// A File appends lines all or none. On a node that encrypts, each line is sealed. A Journal is a File of JSON values
// of one type. It is replayed when it is opened, and values are on disk when Commit returns.
//
// After a crash, the last line may lack its newline. Replay cuts it off, because no client was answered for it. audit
// compares its two files first. File and Journal are not safe for concurrent use; their owners lock. Only one process
// may open a file.
package journal

import (
	"errors"
	"io"
	"iter"
	"os"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog/seal"
)

// MaxLine bounds a line that is read. Written lines are far shorter, because each text fits a frame.
const MaxLine = 64 << 20

// rewriteBuffer is the size of a write when a file is rewritten.
const rewriteBuffer = 64 << 10

// File is a file of lines, open for more.
type File struct {
	path, place string
	keys        *seal.Ring // seals the lines; nil: they are plain
	file        *os.File
	size        int64 // bytes written
	flushSize   int   // Append flushes when buf has this many bytes
	buf         []byte
	broken      error // set when a failed write could not be undone; every later write fails with it
}

// Open opens or creates a file. place is the associated data of its sealed lines, so that a line of another file
// cannot be moved into it.
func Open(path, place string, keys *seal.Ring) (*File, error) {
	return open(&File{path: path, place: place, keys: keys}, 0)
}

// Create creates or empties a file. Its lines are buffered until Flush.
func Create(path, place string, keys *seal.Ring) (*File, error) {
	return open(&File{path: path, place: place, keys: keys, flushSize: rewriteBuffer}, os.O_TRUNC)
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

// Lines iterates over the stored lines of a file (see kit.Lines).
func Lines(r io.ReaderAt) iter.Seq2[[]byte, error] {
	return kit.Lines(io.NewSectionReader(r, 0, 1<<62), MaxLine)
}

// Lines iterates over the stored lines of the file as it is now.
func (f *File) Lines() iter.Seq2[[]byte, error] { return Lines(f.file) }

// Append appends lines, all or none.
func (f *File) Append(lines ...[]byte) error {
	for _, l := range lines {
		f.buf = append(append(f.buf, f.keys.Line(l, f.place)...), '\n')
	}
	if len(f.buf) < f.flushSize {
		return nil
	}
	return f.Flush()
}

// Flush writes the buffered lines.
func (f *File) Flush() error {
	b := f.buf
	if f.buf = b[:0]; cap(b) > 2*rewriteBuffer {
		f.buf = nil // do not keep the buffer of a large line
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

// Cut truncates the file to a size.
func (f *File) Cut(size int64) error {
	if f.broken = f.file.Truncate(size); f.broken == nil {
		f.size = size
	}
	return f.broken
}

// Sync syncs the written lines to disk. It is safe to call during any other method.
func (f *File) Sync() error { return f.file.Sync() }

// Changed reports whether another process has written to the file or replaced it.
func (f *File) Changed() (bool, error) {
	current, err := os.Stat(f.path)
	if err != nil {
		return false, err
	}
	ours, err := f.file.Stat()
	return err == nil && (current.Size() != f.size || !os.SameFile(current, ours)), err
}

// Rename moves the file to a path and replaces the file there.
func (f *File) Rename(path string) error {
	err := os.Rename(f.path, path)
	if err == nil {
		f.path, f.flushSize = path, 0
	}
	return err
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Discard closes and removes the file.
func (f *File) Discard() error { return errors.Join(f.file.Close(), os.Remove(f.path)) }
