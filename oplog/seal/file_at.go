package seal

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// A FileAt reads a sealed file in any order. Its methods may be called from any goroutine.
type FileAt struct {
	in   io.ReaderAt
	aead cipher.AEAD
	size int64 // of the plain text
	// offsets has the offset of each block on the disk and in the plain text. It is nil for a file whose only mark is
	// at its end: all its blocks but the last are full, so the offsets can be computed.
	offsets []blockOffset

	mu     sync.Mutex // guards recent
	recent struct {   // the last block that was read in part, because a sequential reader needs the rest of it next
		number int
		plain  []byte
		buf    *[]byte // the block's buffer; nil before the first
	}
}

type blockOffset struct{ disk, plain int64 }

var blocks = sync.Pool{New: func() any { b := make([]byte, blockSize); return &b }}

// At opens a sealed file of a size, up to its last mark. Data after the mark was never synced, and a crash may have
// torn it (torn.go).
func (r *Ring) At(in io.ReaderAt, size int64) (*FileAt, error) {
	head := make([]byte, headSize)
	n, err := in.ReadAt(head, 0)
	if err != nil && !isEOF(err) {
		return nil, err
	}
	a, err := r.fileCipher(head[:n])
	if err != nil {
		return nil, err
	}
	f := &FileAt{in: in, aead: a}
	if ok, err := f.openUniform(size); ok || err != nil {
		return f, err
	}
	if err := f.scan(size); err != nil {
		return nil, err
	}
	return f, nil
}

// openUniform opens a file whose only mark is at its end, from its last block. All other blocks are full then.
func (f *FileAt) openUniform(size int64) (ok bool, err error) {
	last := (size - headSize - 1) / blockSize
	if size <= headSize || last >= maxBlocks {
		return false, nil
	}
	buf := blocks.Get().(*[]byte)
	defer blocks.Put(buf)
	at := headSize + last*blockSize
	b, _, err := f.load(at, uint32(last), *buf)
	if errors.Is(err, ErrDamaged) {
		return false, nil // the file may have several marks; if not, the scan finds the damage
	}
	if err != nil || !b.mark || b.since != 0 || at+int64(b.size()) != size {
		return false, err
	}
	f.size = last*blockPlain + int64(b.length)
	return true, nil
}

// load reads the block with a number into buf and opens it there.
func (f *FileAt) load(at int64, number uint32, buf []byte) (b block, plain []byte, err error) {
	n, err := f.in.ReadAt(buf[:blockSize], at)
	if err != nil && !isEOF(err) {
		return b, nil, err
	}
	b, ok := parseBlock(buf[:n])
	if !ok || b.number != number || b.size() > n {
		return b, nil, damaged(number)
	}
	plain, err = openBlock(f.aead, b, buf, buf[blockHead:blockHead])
	return b, plain, err
}

// Size returns the size of the plain text.
func (f *FileAt) Size() int64 { return f.size }

// find returns the block that holds an offset of the plain text.
func (f *FileAt) find(off int64) (number int, p blockOffset) {
	if f.offsets == nil {
		n := off / blockPlain
		return int(n), blockOffset{headSize + n*blockSize, n * blockPlain}
	}
	i, found := slices.BinarySearchFunc(f.offsets, off, func(p blockOffset, off int64) int {
		return int(min(max(p.plain-off, -1), 1))
	})
	if !found {
		i--
	}
	for i+1 < len(f.offsets) && f.offsets[i+1].plain == f.offsets[i].plain { // skip empty blocks
		i++
	}
	return i, f.offsets[i]
}

// ReadAt implements io.ReaderAt.
func (f *FileAt) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("read before the beginning of a file")
	}
	for n < len(p) {
		at := off + int64(n)
		if at >= f.size {
			return n, io.EOF
		}
		k, err := f.readBlock(p[n:], at)
		if err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// readBlock reads the part of p that is in one block.
func (f *FileAt) readBlock(p []byte, off int64) (int, error) {
	number, at := f.find(off)
	skip := int(off - at.plain)
	keep := f.mu.TryLock() // without the cache if another goroutine uses it
	if keep {
		defer f.mu.Unlock()
		if r := &f.recent; r.buf != nil && r.number == number {
			return f.copyPlain(p, r.plain, skip, number)
		}
	}
	buf := blocks.Get().(*[]byte)
	_, plain, err := f.load(at.disk, uint32(number), *buf)
	if err != nil {
		blocks.Put(buf)
		return 0, err
	}
	n, err := f.copyPlain(p, plain, skip, number)
	if keep && n < len(plain)-skip {
		r := &f.recent
		r.number, r.plain = number, plain
		buf, r.buf = r.buf, buf
	}
	if buf != nil {
		blocks.Put(buf)
	}
	return n, err
}

func (f *FileAt) copyPlain(p, plain []byte, skip, number int) (int, error) {
	if skip >= len(plain) { // the block is shorter than when the file was opened
		return 0, damaged(uint32(number))
	}
	return copy(p, plain[skip:]), nil
}

var errNoMark = fmt.Errorf("%w: it is incomplete", ErrDamaged)
