package large

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// growth limits the room of a buffer to so many times the bytes that have arrived: an announced length alone
// allocates little, and little is copied twice.
const growth = 8

// firstBuffer is the buffer for bytes that have not begun to arrive, whatever length was announced.
const firstBuffer = 8 << 10

// pieceSize is the number of bytes read before other goroutines get the processor: bytes that have arrived already are
// read without a pause.
const pieceSize = Piece

// pieces are buffers that are used again: a body rejected when most of it has arrived leaves no garbage, and no new
// pages of the system.
var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// Read reads to the end, behind the bytes begun. announced is the expected length; negative when it is unknown. If
// reading fails, it returns the bytes that came before.
func Read(begun []byte, r io.Reader, announced int64) ([]byte, error) {
	room := int64(firstBuffer)
	if announced >= 0 && announced < room {
		room = announced + 1 // one more, to see the end
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
	return joined(append([][]byte{begun, b}, more...)), nil
}

// fill reads until the slice's capacity is full; a nil error says that it is.
func fill(b []byte, r io.Reader) ([]byte, error) {
	for len(b) < cap(b) {
		n, err := r.Read(b[len(b):cap(b)])
		if b = b[:len(b)+n]; err != nil {
			return b, err
		}
	}
	return b, nil
}

func joined(parts [][]byte) []byte {
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

// Body reads a request's body of at most limit bytes; a longer one is an *http.MaxBytesError. A body that announces
// more is not read at all.
func Body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	return Read(nil, http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
}

// Paced is a reader that has next called before each piece of Piece bytes; an error of it ends the stream.
func Paced(r io.Reader, next func() error) io.Reader { return &paced{r: r, next: next} }

// Piece is the size of a piece in bytes: a sender that is slow is given time for one after the other.
const Piece = 64 << 10

type paced struct {
	r    io.Reader
	next func() error
	left int // of the piece that is read
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

// Exactly reads until it has n bytes, behind those that have begun and in their room if it is large enough. The end
// of the stream is io.ErrUnexpectedEOF.
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

// grow makes a larger buffer, no larger than wanted if that is more than there is, and copies in steps.
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
