package index

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/seal"
)

// A file of sections is
//
//	magic 8 bytes | sections | a section of length 0
//
// and a section is length u32, CRC-32C u32, bytes; all numbers little endian. The reader hands out a section's bytes
// only after its checksum agrees. A file without its empty last section was not finished and is rejected.
const (
	headMagic   = "CAIRNCK2"
	rowsMagic   = "CAIRNRW7"
	magicKind   = 7         // bytes that name the kind of file; the last byte is its version
	sectionSize = 256 << 10 // after which a section is closed
	maxSection  = 64 << 20  // longest section that is read
)

var errSections = errors.New("damaged checkpoint")

func sectionSum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// A sectionWriter writes a file of sections. It keeps its first error, and close returns it.
type sectionWriter struct {
	file *os.File
	seal io.WriteCloser // nil: the file is plain
	out  *bufio.Writer
	buf  []byte
	err  error
}

// newSectionWriter creates a file; a ring seals it.
func newSectionWriter(path, magic string, ring *seal.Ring) *sectionWriter {
	p := &sectionWriter{}
	if p.file, p.err = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); p.err != nil {
		return p
	}
	var to io.Writer = p.file
	if ring != nil {
		s, err := ring.Writer(p.file)
		if err != nil {
			p.err = err
			return p
		}
		p.seal, to = s, s
	}
	p.out = bufio.NewWriterSize(to, 1<<20)
	p.write([]byte(magic))
	return p
}

func (w *sectionWriter) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
}

func (w *sectionWriter) u8(v uint8)   { w.buf = append(w.buf, v) }
func (w *sectionWriter) u16(v uint16) { w.buf = binary.LittleEndian.AppendUint16(w.buf, v) }
func (w *sectionWriter) u32(v uint32) { w.buf = binary.LittleEndian.AppendUint32(w.buf, v) }
func (w *sectionWriter) u64(v uint64) { w.buf = binary.LittleEndian.AppendUint64(w.buf, v) }
func (w *sectionWriter) times(all ...int64) {
	for _, at := range all {
		w.u64(uint64(at))
	}
}
func (w *sectionWriter) f64(v float64) { w.u64(math.Float64bits(v)) }
func (w *sectionWriter) str(s string) {
	w.u32(uint32(len(s)))
	w.buf = append(w.buf, s...)
}

// endSection ends the section when it is long enough, or, with force, when it is not empty.
func (w *sectionWriter) endSection(force bool) {
	if len(w.buf) < sectionSize && !(force && len(w.buf) > 0) {
		return
	}
	w.section(w.buf)
	w.buf = w.buf[:0]
}

func (w *sectionWriter) section(b []byte) {
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(b)))
	binary.LittleEndian.PutUint32(head[4:], sectionSum(b))
	w.write(head[:])
	w.write(b)
}

// close finishes the file and brings it to the disk.
func (w *sectionWriter) close() error {
	w.endSection(true)
	w.section(nil)
	if w.err == nil {
		w.err = w.out.Flush()
	}
	if w.seal != nil && w.err == nil {
		w.err = w.seal.Close()
	}
	if w.file == nil {
		return w.err
	}
	if w.err == nil {
		w.err = w.file.Sync()
	}
	return errors.Join(w.err, w.file.Close())
}

// A sectionReader reads a file of sections, while a goroutine fetches and checks the next ones. After its first error
// every read returns zeros and next returns false, so a caller checks err once a record.
type sectionReader struct {
	buf []byte // the rest of the section
	raw []byte
	end bool
	err error

	ahead chan section
	free  chan []byte // buffers to be used again
}

type section struct {
	bytes []byte // none: the last one
	err   error
}

// readSections opens a file and has f read it to its end. Damage is a *damage.Error.
func readSections(path, magic string, ring *seal.Ring, f func(*sectionReader) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	defer func() {
		// a changed bit in the first bytes makes a sealed file look plain
		if errors.Is(err, errSections) || errors.Is(err, seal.ErrDamaged) || errors.Is(err, seal.ErrPlain) {
			err = &damage.Error{Path: path, Err: err}
		}
	}()
	var in io.Reader = bufio.NewReaderSize(file, 16<<10) // a section is larger, and is read without it
	if ring != nil {
		if in, err = ring.Reader(in); err != nil {
			return err
		}
	}
	head := make([]byte, len(magic))
	switch _, err := io.ReadFull(in, head); {
	case err == nil && string(head) != magic && string(head[:magicKind]) == magic[:magicKind]:
		return text.ErrVersion
	case err != nil || string(head) != magic:
		return fmt.Errorf("%w: not a file of this kind", errSections)
	}
	e := &sectionReader{ahead: make(chan section, 2), free: make(chan []byte, 3)}
	stop, fetched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(fetched)
		e.fetch(in, stop)
	}()
	defer func() {
		close(stop)
		<-fetched
	}()
	if err := f(e); err != nil {
		return err
	}
	if e.next(); e.err == nil && !e.end {
		e.err = fmt.Errorf("%w: more than there should be", errSections)
	}
	return e.err
}

// fetch reads sections until the last one, an error or stop.
func (r *sectionReader) fetch(in io.Reader, stop <-chan struct{}) {
	for last := false; !last; {
		var buf []byte
		select {
		case buf = <-r.free:
		default:
		}
		b, err := readSection(in, buf)
		last = err != nil || len(b) == 0
		select {
		case r.ahead <- section{b, err}:
		case <-stop:
			return
		}
	}
}

func readSection(in io.Reader, buf []byte) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errSections, err)
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxSection {
		return nil, fmt.Errorf("%w: a section of %d bytes", errSections, n)
	}
	if cap(buf) < int(n) {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(in, buf); err != nil {
		return nil, fmt.Errorf("%w: %w", errSections, err)
	}
	if sectionSum(buf) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, fmt.Errorf("%w: checksum differs", errSections)
	}
	return buf, nil
}

// next reads the following section when this one is at its end, and reports whether there is something to read.
func (r *sectionReader) next() bool {
	if r.err != nil || r.end || len(r.buf) > 0 {
		return r.err == nil && !r.end
	}
	select {
	case r.free <- r.raw:
	default:
	}
	s := <-r.ahead
	r.raw, r.buf, r.err = s.bytes, s.bytes, s.err
	r.end = s.err == nil && len(s.bytes) == 0
	return s.err == nil && !r.end
}

// take returns the next n bytes, valid until next.
func (r *sectionReader) take(n int) []byte {
	if n == 0 {
		return nil
	}
	if len(r.buf) == 0 {
		r.next()
	}
	if r.err == nil && n > len(r.buf) {
		r.err = fmt.Errorf("%w: a section ends too early", errSections)
	}
	if r.err != nil {
		return make([]byte, min(n, 8))
	}
	b := r.buf[:n]
	r.buf = r.buf[n:]
	return b
}

func (r *sectionReader) u8() uint8    { return r.take(1)[0] }
func (r *sectionReader) u16() uint16  { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *sectionReader) u32() uint32  { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *sectionReader) u64() uint64  { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *sectionReader) f64() float64 { return math.Float64frombits(r.u64()) }
func (r *sectionReader) str() string  { return string(r.take(int(r.u32()))) }
