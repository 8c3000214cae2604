package large

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// growth limits a buffer to this multiple of the arrived bytes, so that an announced length alone allocates little.
// It is large, so that few bytes are copied more than once.
const growth = 8

// firstBuffer is the size of the buffer before any bytes have arrived, whatever length was announced.
const firstBuffer = 8 << 10

// pieceSize is the number of bytes to read before yielding to other goroutines. Without yielding, a read of bytes
// that have arrived already would not pause.
const pieceSize = Piece

// pieces pools buffers, so that a body that is rejected late leaves no garbage and needs no new pages.
var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// Read reads to the end and returns the bytes after begun. announced is the expected length; negative if unknown. On
// an error it returns the bytes read before it.
func Read(begun []byte, r io.Reader, announced int64) ([]byte, error) {
	room := int64(firstBuffer)
	if announced >= 0 && announced < room {
		room = announced + 1 // one more byte, to detect the end
	}
	b, err := fill(make([]byte, 0, room), r)
	var more [][]byte
	defer func() {
		for _, p := range more {
			pieces.Put((*[pieceSize]byte)(p[:pieceSize]))
		}
	}()
	for err == nil {
		yieldToOthers()
		p := pieces.Get().(*[pieceSize]byte)
		var got []byte
		got, err = fill(p[:0], r)
		more = append(more, got)
	}
	if !errors.Is(err, io.EOF) {
		return append(begun, b...), err
	}
	if begun == nil && more == nil {
		return b, nil
	}
	return concat(append([][]byte{begun, b}, more...)), nil
}

// fill reads until the slice's capacity is full. A nil error means that it is full.
func fill(b []byte, r io.Reader) ([]byte, error) {
	for len(b) < cap(b) {
		n, err := r.Read(b[len(b):cap(b)])
		if b = b[:len(b)+n]; err != nil {
			return b, err
		}
	}
	return b, nil
}

func concat(parts [][]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	all := make([]byte, 0, n)
	for _, p := range parts {
		all = append(all, p...)
		yieldToOthers()
	}
	return all
}

// Body reads a request's body of at most limit bytes. A longer one is an *http.MaxBytesError; it is not read if its
// announced length exceeds the limit.
func Body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	return Read(nil, http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
}

// Paced returns a reader that calls next before each piece of Piece bytes. An error of next ends the stream.
func Paced(r io.Reader, next func() error) io.Reader { return &paced{r: r, next: next} }

// Piece is the size of a piece in bytes. Deadlines for slow senders apply to each piece.
const Piece = 64 << 10

type paced struct {
	r    io.Reader
	next func() error
	left int // bytes left in the current piece
}

func (p *paced) Read(b []byte) (int, error) {
	if p.left == 0 {
		if err := p.next(); err != nil {
			return 0, err
		}
		p.left = Piece
	}
	n, err := p.r.Read(b[:min(len(b), p.left)])
	p.left -= n
	return n, err
}

// Exactly reads until it has n bytes, including those in begun, and reuses begun's capacity. At the end of the stream
// it returns io.ErrUnexpectedEOF.
func Exactly(begun []byte, r io.Reader, n int) ([]byte, error) {
	b := begun
	for len(b) < n {
		if len(b) == cap(b) {
			b = grow(b, int64(n))
		}
		at := len(b)
		b = b[:min(cap(b), n, at+pieceSize)]
		if _, err := io.ReadFull(r, b[at:]); errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		} else if err != nil {
			return nil, err
		}
		if len(b)-at == pieceSize {
			yieldToOthers()
		}
	}
	return b, nil
}

// grow copies b to a larger buffer, of at most wanted bytes if that is larger. It copies in steps, because a copy
// cannot be preempted.
func grow(b []byte, wanted int64) []byte {
	room := max(firstBuffer, int64(growth*cap(b)))
	if wanted > int64(cap(b)) {
		room = min(room, wanted)
	}
	out := make([]byte, len(b), room)
	for at := 0; at < len(b); at += From {
		end := min(at+From, len(b))
		copy(out[at:end], b[at:end])
	}
	return out
}
