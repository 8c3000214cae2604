package seal

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
)

// Reader reads a sealed file sequentially from an io.Reader. It returns io.EOF only at the end that the writer's Close
// wrote, and an error for a file that a crash truncated.
func (r *Ring) Reader(in io.Reader) (io.Reader, error) {
	head := make([]byte, headSize)
	n, err := io.ReadFull(in, head)
	if err != nil && !isEOF(err) {
		return nil, err
	}
	a, err := r.fileCipher(head[:n])
	if err != nil {
		return nil, err
	}
	return &reader{in: in, aead: a, buf: make([]byte, blockSize)}, nil
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

type reader struct {
	in    io.Reader
	aead  cipher.AEAD
	n     uint32
	mark  bool // the previous block has a mark, so the file may end here
	buf   []byte
	plain []byte
	err   error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for len(r.plain) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.plain, r.err = r.block()
	}
	n := copy(p, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

func (r *reader) block() ([]byte, error) {
	n, err := io.ReadFull(r.in, r.buf[:blockHead])
	if n == 0 && errors.Is(err, io.EOF) && r.mark {
		return nil, io.EOF
	}
	b, ok := parseBlock(r.buf[:n])
	if err == nil && ok && b.number == r.n {
		_, err = io.ReadFull(r.in, r.buf[blockHead:b.size()])
	}
	switch {
	case isEOF(err):
		return nil, fmt.Errorf("%w: it ends within block %d", ErrDamaged, r.n)
	case err != nil:
		return nil, err
	case !ok || b.number != r.n:
		return nil, damaged(r.n)
	}
	r.n, r.mark = r.n+1, b.mark
	return openBlock(r.aead, b, r.buf, r.buf[blockHead:blockHead])
}

// Bytes seals a small file for this home.
func (r *Ring) Bytes(plain []byte) []byte {
	if r == nil {
		return plain
	}
	var b bytes.Buffer
	w, err := r.Writer(&b)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic("seal: " + err.Error()) // writing to memory does not fail
	}
	return b.Bytes()
}

// Plain opens a small file that Bytes sealed.
func (r *Ring) Plain(raw []byte) ([]byte, error) {
	if r == nil {
		if IsSealed(raw) {
			return nil, ErrSealed
		}
		return raw, nil
	}
	in, err := r.Reader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(in)
}
