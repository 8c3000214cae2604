package seal

import (
	"crypto/cipher"
	"errors"
	"io"
	"io/fs"
	"sync"
)

// A Writer seals a file from its beginning to its end. Close it: a file without its end does not open. Its methods
// may be called from any goroutine.
type Writer struct {
	mu    sync.Mutex
	w     io.Writer
	aead  cipher.AEAD
	next  block  // its length is the number of plain bytes that wait in buf
	buf   []byte // a block: its head, what waits, room for its tag
	ended bool   // nothing was written since the last mark
	err   error  // a block that was written in part is not written again: the first error stays
}

// Writer seals what is written for this home.
func (r *Ring) Writer(w io.Writer) (*Writer, error) {
	k := r.activeKey()
	return newWriter(w, newHead(kindRing, k.ID), k.key)
}

// Backup seals what is written under the master key, so that it can be read without this home.
func (r *Ring) Backup(w io.Writer) (*Writer, error) {
	m := r.masters[0]
	return newWriter(w, newHead(kindMaster, m.ID()), m.key)
}

func newWriter(w io.Writer, head []byte, by [keySize]byte) (*Writer, error) {
	aead := cipherFor(by, head)
	if _, err := w.Write(head); err != nil { // head may be any other bytes now: a vfs.File may change what it was given
		return nil, err
	}
	return &Writer{w: w, aead: aead, buf: make([]byte, blockSize)}, nil
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(p) > 0 && w.err == nil {
		if w.next.length == blockPlain { // a full block waits until more comes: it may be the one that gets the mark
			w.flush()
			continue
		}
		k := copy(w.buf[blockHead+w.next.length:blockHead+blockPlain], p)
		w.next.length += k
		p, n, w.ended = p[k:], n+k, false
	}
	return n, w.err
}

// Sync marks what was written so far as an end of the file and syncs what is below, which must be able to. A crash
// leaves at least this much of the file readable.
//
// Invariant: a mark is written when the one before it is on the disk, so that one mark is proof of what stands before
// the other.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark()
	if w.err == nil {
		w.err = w.w.(interface{ Sync() error }).Sync()
	}
	return w.err
}

// Close writes the end. It neither syncs nor closes what is below.
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
