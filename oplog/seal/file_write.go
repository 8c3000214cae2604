package seal

import (
	"crypto/cipher"
	"errors"
	"io"
	"io/fs"
	"sync"
)

// A Writer seals a file from its beginning to its end. It must be closed, because a file without an end cannot be
// opened. Its methods may be called from any goroutine.
type Writer struct {
	mu    sync.Mutex
	w     io.Writer
	aead  cipher.AEAD
	next  block  // the next block; its length is the number of plain bytes in buf
	buf   []byte // the next block: its head, plain bytes, room for its tag
	ended bool   // nothing was written since the last mark
	err   error  // the first error; it is final, because a block that was written in part cannot be written again
}

// Writer returns a Writer that seals for this home.
func (r *Ring) Writer(w io.Writer) (*Writer, error) {
	k := r.activeKey()
	return newWriter(w, newHead(kindRing, k.ID), k.key)
}

// Backup returns a Writer that seals under the master key, so that the file can be read without this home.
func (r *Ring) Backup(w io.Writer) (*Writer, error) {
	m := r.masters[0]
	return newWriter(w, newHead(kindMaster, m.ID()), m.key)
}

func newWriter(w io.Writer, head []byte, by [keySize]byte) (*Writer, error) {
	aead := cipherFor(by, head)
	if _, err := w.Write(head); err != nil { // head is not used afterwards: a vfs.File may change the bytes that it gets
		return nil, err
	}
	return &Writer{w: w, aead: aead, buf: make([]byte, blockSize)}, nil
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(p) > 0 && w.err == nil {
		if w.next.length == blockPlain { // a full block is kept until more data comes, because it may get the mark
			w.flush()
			continue
		}
		k := copy(w.buf[blockHead+w.next.length:blockHead+blockPlain], p)
		w.next.length += k
		p, n, w.ended = p[k:], n+k, false
	}
	return n, w.err
}

// Sync writes a mark and syncs the underlying file, which must be able to sync. After a crash, the file is readable at
// least up to this mark.
//
// Invariant: a mark is written only when the previous one is on the disk. So each mark proves that everything before
// the previous mark was synced.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark()
	if w.err == nil {
		w.err = w.w.(interface{ Sync() error }).Sync()
	}
	return w.err
}

// Close writes the end. It neither syncs nor closes the underlying file.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark()
	err := w.err
	if err == nil {
		w.err = fs.ErrClosed
	}
	return err
}

func (w *Writer) mark() {
	if w.ended || w.err != nil {
		return
	}
	w.next.mark = true
	since := w.next.number + 1
	w.flush()
	w.next.since, w.ended = since, true
}

func (w *Writer) flush() {
	if w.next.number == maxBlocks-1 {
		w.err = errors.New("file too long to encrypt")
		return
	}
	_, w.err = w.w.Write(sealBlock(w.aead, w.next, w.buf))
	w.next = block{number: w.next.number + 1, since: w.next.since}
}
