package seal

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	fileMagic   = "CAIRNSEA"
	fileVersion = 1
	headSize    = len(fileMagic) + 1 + 1 + idSize + wrappedSize

	kindRing   = 0
	kindMaster = 1

	chunkSize  = 64 << 10
	sealedSize = chunkSize + tagSize
)

// maxChunks keeps chunk numbers apart: 2^40 of them are 64 PiB.
const maxChunks = 1 << 40

func fileContext(kind byte) []byte { return append([]byte("cairn file key "), kind) }

// A Writer seals a file. Close it: without its end the file does not open.
type Writer struct {
	w    io.Writer
	aead cipher.AEAD
	n    uint64
	buf  []byte
	out  []byte
	err  error
}

// Writer seals what is written for this home.
func (r *Ring) Writer(w io.Writer) (*Writer, error) {
	k := r.current()
	return newWriter(w, kindRing, k.id, k.key)
}

// Backup seals what is written under the master key, so that it can be read without this home.
func (r *Ring) Backup(w io.Writer) (*Writer, error) {
	m := r.masters[0]
	return newWriter(w, kindMaster, m.ID(), m.key)
}

func newWriter(w io.Writer, kind byte, id KeyID, by [keySize]byte) (*Writer, error) {
	var key [keySize]byte
	rand.Read(key[:])
	head := append(append(make([]byte, 0, headSize), fileMagic...), fileVersion, kind)
	head = binary.BigEndian.AppendUint32(head, uint32(id))
	head = append(head, wrap(by, key, fileContext(kind))...)
	if _, err := w.Write(head); err != nil {
		return nil, err
	}
	return &Writer{w: w, aead: gcm(key), buf: make([]byte, 0, chunkSize), out: make([]byte, 0, sealedSize)}, nil
}

func chunkNonce(n uint64, last bool) (b [nonceSize]byte) {
	binary.BigEndian.PutUint64(b[:], n)
	if last {
		b[nonceSize-1] = 1
	}
	return b
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if len(w.buf) == chunkSize { // a full chunk may be the last one: it waits until more comes
			if err := w.flush(false); err != nil {
				return n, err
			}
		}
		k := min(len(p), chunkSize-len(w.buf))
		w.buf = append(w.buf, p[:k]...)
		p, n = p[k:], n+k
	}
	return n, w.err
}

func (w *Writer) flush(last bool) error {
	if w.err != nil {
		return w.err
	}
	if w.n >= maxChunks {
		w.err = errors.New("file too long to seal")
		return w.err
	}
	nonce := chunkNonce(w.n, last)
	w.n++
	w.out = w.aead.Seal(w.out[:0], nonce[:], w.buf, nil)
	w.buf = w.buf[:0]
	_, w.err = w.w.Write(w.out)
	return w.err
}

// Close writes the end. It does not close what is below.
func (w *Writer) Close() error {
	if w.aead == nil {
		return w.err
	}
	err := w.flush(true)
	w.aead = nil
	return err
}

// IsSealed says whether a file that begins with these bytes is sealed; eight are enough.
func IsSealed(head []byte) bool { return bytes.HasPrefix(head, []byte(fileMagic)) }

// opener reads a head and finds the file's key. A nil Ring has none.
func (r *Ring) opener(head []byte) (cipher.AEAD, error) {
	if len(head) < headSize || !IsSealed(head) {
		return nil, fmt.Errorf("%w: no sealed file", ErrPlain)
	}
	if r == nil {
		return nil, ErrSealed
	}
	rest := head[len(fileMagic):]
	if rest[0] != fileVersion {
		return nil, fmt.Errorf("%w: sealed file of version %d, this one reads %d", ErrDamaged, rest[0], fileVersion)
	}
	kind, id := rest[1], KeyID(binary.BigEndian.Uint32(rest[2:]))
	var by [keySize]byte
	switch kind {
	case kindRing:
		k, err := r.find(id)
		if err != nil {
			return nil, err
		}
		by = k.key
	case kindMaster:
		m, ok := r.master(id)
		if !ok {
			return nil, fmt.Errorf("%w: the file is sealed under master key %s", ErrKey, id)
		}
		by = m.key
	default:
		return nil, fmt.Errorf("%w: sealed file of kind %d", ErrDamaged, kind)
	}
	key, err := unwrap(by, rest[2+idSize:][:wrappedSize], fileContext(kind))
	if err != nil {
		return nil, err
	}
	return gcm(key), nil
}

// Reader reads a sealed file from its beginning. It gives io.EOF only at the file's true end.
func (r *Ring) Reader(in io.Reader) (io.Reader, error) {
	head := make([]byte, headSize)
	if n, err := io.ReadFull(in, head); err != nil {
		if !IsSealed(head[:n]) {
			return nil, fmt.Errorf("%w: no sealed file", ErrPlain)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: its head is cut", ErrDamaged)
		}
		return nil, err
	}
	a, err := r.opener(head)
	if err != nil {
		return nil, err
	}
	return &reader{in: in, aead: a, buf: make([]byte, sealedSize+1)}, nil
}

type reader struct {
	in    io.Reader
	aead  cipher.AEAD
	n     uint64
	buf   []byte // a chunk and one byte of the next: whether there is one
	have  int
	plain []byte
	done  bool
	err   error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for len(r.plain) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.done {
			return 0, io.EOF
		}
		r.err = r.next()
	}
	n := copy(p, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

func (r *reader) next() error {
	n, err := io.ReadFull(r.in, r.buf[r.have:])
	r.have += n
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	last := r.have <= sealedSize
	size := min(r.have, sealedSize)
	nonce := chunkNonce(r.n, last)
	plain, err := r.aead.Open(nil, nonce[:], r.buf[:size], nil)
	if err != nil {
		return fmt.Errorf("%w: chunk %d of the file", ErrDamaged, r.n)
	}
	r.n++
	r.plain, r.done = plain, last
	r.buf[0] = r.buf[sealedSize]
	r.have = 1
	return nil
}

// A FileAt reads a sealed file in any order. It is for one goroutine at a time.
type FileAt struct {
	in    io.ReaderAt
	aead  cipher.AEAD
	size  int64 // of the plain text
	last  uint64
	buf   []byte
	held  map[uint64][]byte // chunks that were opened, heldChunks of them at most
	order []uint64          // oldest first
}

// heldChunks is how many opened chunks are kept: those who jump about come back to where they were.
const heldChunks = 64

// At opens a sealed file of a size for reading in any order.
func (r *Ring) At(in io.ReaderAt, size int64) (*FileAt, error) {
	head := make([]byte, headSize)
	if _, err := in.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("%w: its head is cut", ErrDamaged)
	}
	a, err := r.opener(head)
	if err != nil {
		return nil, err
	}
	plain, err := PlainSize(size)
	if err != nil {
		return nil, err
	}
	return &FileAt{in: in, aead: a, size: plain, last: uint64(max(plain-1, 0) / chunkSize), buf: make([]byte, sealedSize), held: map[uint64][]byte{}}, nil
}

// PlainSize is how much a sealed file of a size holds.
func PlainSize(sealed int64) (int64, error) {
	body := sealed - int64(headSize)
	chunks := (body + sealedSize - 1) / sealedSize
	if plain := body - chunks*tagSize; body >= tagSize && plain >= 0 && (plain > (chunks-1)*chunkSize || chunks == 1) {
		return plain, nil
	}
	return 0, fmt.Errorf("%w: %d bytes are no sealed file", ErrDamaged, sealed)
}

// Size is the plain text's.
func (f *FileAt) Size() int64 { return f.size }

// ReadAt implements io.ReaderAt.
func (f *FileAt) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		at := off + int64(n)
		if at >= f.size || at < 0 {
			return n, io.EOF
		}
		plain, err := f.load(uint64(at / chunkSize))
		if err != nil {
			return n, err
		}
		n += copy(p[n:], plain[at%chunkSize:])
	}
	return n, nil
}

func (f *FileAt) load(chunk uint64) ([]byte, error) {
	if plain, ok := f.held[chunk]; ok {
		return plain, nil
	}
	size := sealedSize
	if chunk == f.last {
		size = int(f.size-int64(chunk)*chunkSize) + tagSize
	}
	if _, err := f.in.ReadAt(f.buf[:size], int64(headSize)+int64(chunk)*sealedSize); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var reuse []byte
	if len(f.order) == heldChunks {
		reuse = f.held[f.order[0]][:0]
		delete(f.held, f.order[0])
		f.order = f.order[1:]
	}
	nonce := chunkNonce(chunk, chunk == f.last)
	plain, err := f.aead.Open(reuse, nonce[:], f.buf[:size], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: chunk %d of the file", ErrDamaged, chunk)
	}
	f.held[chunk], f.order = plain, append(f.order, chunk)
	return plain, nil
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
		panic("seal: " + err.Error()) // memory takes what is written to it
	}
	return b.Bytes()
}

// Plain reads a small file of Bytes.
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
