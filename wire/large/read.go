package large

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// Room is made for so many times the bytes that have arrived: who claims much is not believed, and little is copied twice.
const growth = 8

// first is the room for what has not begun to arrive, whatever was announced.
const first = 64 << 10

// atOnce is how much is read before others are let in: what has arrived already is read without a pause.
const atOnce = 64 << 10

// pieces are rooms that others have used: what is refused when most of it has arrived leaves nothing to collect, and the system
// makes no new pages for it.
var pieces = sync.Pool{New: func() any { return new([atOnce]byte) }}

// Read reads to the end, behind what was begun. Announced is how many bytes there will be; negative when nobody knows. Of what
// breaks off the beginning is returned.
func Read(begun []byte, r io.Reader, announced int64) ([]byte, error) {
	room := int64(first)
	if announced >= 0 && announced < room {
		room = announced + 1 // one more, to see the end
	}
	b, err := fill(make([]byte, 0, room), r)
	var more [][]byte
	defer func() {
		for _, p := range more {
			pieces.Put((*[atOnce]byte)(p[:atOnce]))
		}
	}()
	for err == nil {
		letIn()
		p := pieces.Get().(*[atOnce]byte)
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

// fill reads into the room that a slice has; no error says that it is full.
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
		letIn()
	}
	return all
}

// Body reads what a request brings, of at most so many bytes: more is an *http.MaxBytesError. Of what says that it is more nothing
// is read.
func Body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	return Read(nil, http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
}

// Exactly reads n bytes, into the room there is if it suffices. It takes the end for io.ErrUnexpectedEOF.
func Exactly(room []byte, r io.Reader, n int) ([]byte, error) {
	b := room[:0]
	for len(b) < n {
		if len(b) == cap(b) {
			b = grown(b, int64(n))
		}
		at := len(b)
		b = b[:min(cap(b), n, at+atOnce)]
		if _, err := io.ReadFull(r, b[at:]); errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		} else if err != nil {
			return nil, err
		}
		if len(b)-at == atOnce {
			letIn()
		}
	}
	return b, nil
}

// grown makes more room, up to what is wanted when that is more than there is, and copies in steps.
func grown(b []byte, wanted int64) []byte {
	room := max(first, int64(growth*cap(b)))
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
