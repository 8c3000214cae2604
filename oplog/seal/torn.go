package seal

import (
	"bytes"
	"errors"
)

// scan opens a file block by block, up to the last mark. After that there may only be what a crash leaves of blocks
// that were never synced.
func (f *FileAt) scan(size int64) error {
	buf := blocks.Get().(*[]byte)
	defer blocks.Put(buf)
	p, whole := blockOffset{disk: headSize}, 0
	f.offsets = []blockOffset{}
	for p.disk < size {
		b, _, err := f.load(p.disk, uint32(len(f.offsets)), *buf)
		if errors.Is(err, ErrDamaged) {
			torn, terr := f.torn(p.disk, size, uint32(len(f.offsets)), *buf)
			if err = errors.Join(terr, err); torn {
				err = nil
			}
			if err == nil {
				break
			}
		}
		if err != nil {
			return err
		}
		f.offsets = append(f.offsets, p)
		p = blockOffset{p.disk + int64(b.size()), p.plain + int64(b.length)}
		if b.mark {
			whole, f.size = len(f.offsets), p.plain
		}
	}
	if whole == 0 {
		return errNoMark
	}
	f.offsets = f.offsets[:whole]
	return nil
}

// torn reports whether a block that cannot be opened may be a write that reached the disk only in part before a crash.
// Such a block lacks a sector, or has a sector of zeros, which ciphertext never has. Any other difference is damage. A
// block is not torn either if a later mark proves that it was synced (see the package comment).
func (f *FileAt) torn(at, size int64, number uint32, buf []byte) (bool, error) {
	n, err := f.in.ReadAt(buf[:min(blockSize, size-at)], at)
	if err != nil && !isEOF(err) {
		return false, err
	}
	raw := buf[:n]
	b, ok := parseBlock(raw)
	switch {
	case n < blockHead || isZero(raw[:min(sector, n)]):
	case !ok || b.number != number:
		return false, nil
	case b.size() <= n:
		zeros := false
		for from := 0; from < b.size(); from += sector {
			zeros = zeros || isZero(raw[from:from+sector])
		}
		if !zeros {
			return false, nil
		}
	}
	for at += sector; at < size; at += sector {
		head := buf[:blockHead]
		if n, err := f.in.ReadAt(head, at); err != nil && (n < blockHead || !isEOF(err)) {
			if isEOF(err) {
				break
			}
			return false, err
		}
		b, ok := parseBlock(head)
		if !ok || !b.mark || b.number <= number || b.since <= number {
			continue
		}
		_, _, err := f.load(at, b.number, buf)
		if !errors.Is(err, ErrDamaged) {
			return false, err
		}
	}
	return true, nil
}

var zeros [sector]byte

func isZero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }
