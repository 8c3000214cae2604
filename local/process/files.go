package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cairndb/cairn/local/kit"
)

type pathParams struct {
	Path     string `json:"path"`
	MaxBytes int64  `json:"maxBytes"`
}

// maxReadSize bounds the size of a file that files.read returns.
const maxReadSize = 256 << 20

func filesStat(_ *Server, p pathParams) (any, error) {
	i, err := os.Stat(p.Path)
	if err != nil {
		return kit.Object{"exists", false, "isDir", false, "size", 0, "mode", ""}, nil
	}
	return kit.Object{"exists", true, "isDir", i.IsDir(), "size", i.Size(), "mode", i.Mode().String()}, nil
}

func filesValidate(_ *Server, p pathParams) (any, error) {
	i, err := os.Stat(p.Path)
	if err != nil {
		return kit.Object{"valid", false, "isDir", false, "error", "Path does not exist"}, nil
	}
	return kit.Object{"valid", true, "isDir", i.IsDir()}, nil
}

// filesList lists a directory without hidden names. It follows links to tell directories from files.
func filesList(_ *Server, p pathParams) (any, error) {
	f, err := os.OpenFile(p.Path, os.O_RDONLY|syscall.O_DIRECTORY, 0) // opening a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	entries := []kit.Object{}
	for _, n := range names {
		if strings.HasPrefix(n, ".") {
			continue
		}
		full := filepath.Join(p.Path, n)
		i, err := os.Stat(full)
		entries = append(entries, kit.Object{"name", n, "path", full, "isDir", err == nil && i.IsDir()})
	}
	return kit.Object{"entries", entries}, nil
}

// readResult returns the result of files.read.
func readResult(text string, exists bool) kit.Object {
	return kit.Object{"content", text, "exists", exists}
}

// filesRead returns a small file at once. The writer of the connection reads a larger file while it sends it, so that
// no file is in memory as a whole.
func filesRead(_ *Server, p pathParams) (any, error) {
	i, err := os.Stat(p.Path)
	if err != nil {
		return readResult("", false), nil
	}
	limit := int64(maxReadSize)
	if p.MaxBytes > 0 {
		limit = min(limit, p.MaxBytes)
	}
	switch {
	case i.IsDir():
		return nil, rpcErrorf(codeParams, "files.read: path is a directory")
	case !i.Mode().IsRegular():
		return nil, rpcErrorf(codeParams, "files.read: not a regular file")
	case i.Size() > limit:
		return nil, rpcErrorf(codeParams, "files.read: file exceeds maxBytes")
	}
	f, err := os.OpenFile(p.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe since
	if errors.Is(err, fs.ErrNotExist) {
		return readResult("", false), nil
	}
	if err != nil {
		return nil, err
	}
	if i, err := f.Stat(); err != nil || !i.Mode().IsRegular() {
		f.Close()
		return nil, rpcErrorf(codeParams, "files.read: not a regular file")
	}
	first, err := io.ReadAll(io.LimitReader(f, min(limit, smallFile)+1))
	switch {
	case err != nil:
		f.Close()
		return nil, err
	case int64(len(first)) > limit: // it has grown
		f.Close()
		return nil, rpcErrorf(codeParams, "files.read: file exceeds maxBytes")
	case len(first) <= smallFile:
		f.Close()
		return readResult(string(first), true), nil
	}
	return &fileBody{file: f, unsent: first, left: limit - int64(len(first))}, nil
}

// smallFile is the size up to which a file is read at once.
const smallFile = 32 << 10

// fileBody is a file that is encoded as JSON while it is sent. If the file grows meanwhile, the content ends at the
// limit.
type fileBody struct {
	head, tail []byte // of the answer line, around the content
	file       *os.File
	unsent     []byte // bytes that were read and not sent
	left       int64  // bytes that may still be read
}

// setID makes the two parts of the answer line around the content.
func (b *fileBody) setID(id any) {
	const mark = "\uE000" // the id may contain it too, but precedes it
	line := encodeAnswer(id, readResult(mark, true), nil)
	at := bytes.LastIndex(line, []byte(mark))
	b.head, b.tail = line[:at], line[at+len(mark):]
}

// next appends the next piece of the answer line, and reports whether it is the last one.
func (b *fileBody) next(buf []byte) (_ []byte, last bool, err error) {
	buf, b.head = append(buf, b.head...), nil
	had := len(b.unsent)
	b.unsent = slices.Grow(b.unsent, batchBytes)
	n, err := io.ReadFull(b.file, b.unsent[had:had+int(min(batchBytes, b.left))])
	b.unsent, b.left = b.unsent[:had+n], b.left-int64(n)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return buf, false, err
	}
	last = err != nil || b.left == 0
	ready := len(b.unsent)
	if !last { // an incomplete character waits for its last bytes
		ready = kit.CompleteRunes(b.unsent)
	}
	text, err := json.Marshal(string(b.unsent[:ready]))
	if err != nil {
		return buf, false, err
	}
	b.unsent = append(b.unsent[:0], b.unsent[ready:]...)
	buf = append(buf, text[1:len(text)-1]...)
	if last {
		buf = append(buf, b.tail...)
	}
	return buf, last, nil
}
