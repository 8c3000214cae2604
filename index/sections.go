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

	"github.com/cairndb/cairn/oplog/seal"
)

// A file of sections is
//
//	magic 8 bytes | sections | a section of length 0
//
// and a section is length u32, CRC-32C u32, bytes; all numbers little endian. Nothing of a section is looked at before its sum
// agrees, and a file without its last section was not finished.
const (
	headMagic    = "CAIRNCK1"
	rowsMagic    = "CAIRNRW1"
	vectorsMagic = "CAIRNVC1"
	sectionSize  = 256 << 10 // after which a section is closed
	maxSection   = 64 << 20  // of a file that is read
)

var errSections = errors.New("damaged checkpoint")

func sectionSum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// A pen writes a file of sections. Its first error stays, and Close returns it.
type pen struct {
	file *os.File
	seal io.WriteCloser // nil: the file is plain
	out  *bufio.Writer
	buf  []byte
	err  error
}

// newPen creates a file; a ring seals it.
func newPen(path, magic string, ring *seal.Ring) *pen {
	p := &pen{}
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

func (p *pen) write(b []byte) {
	if p.err == nil {
		_, p.err = p.out.Write(b)
	}
}

func (p *pen) u8(v uint8)    { p.buf = append(p.buf, v) }
func (p *pen) u32(v uint32)  { p.buf = binary.LittleEndian.AppendUint32(p.buf, v) }
func (p *pen) u64(v uint64)  { p.buf = binary.LittleEndian.AppendUint64(p.buf, v) }
func (p *pen) f64(v float64) { p.u64(math.Float64bits(v)) }
func (p *pen) str(s string) {
	p.u32(uint32(len(s)))
	p.buf = append(p.buf, s...)
}

// cut ends the section when it has grown long enough, or, with force, when there is one.
func (p *pen) cut(force bool) {
	if len(p.buf) < sectionSize && !(force && len(p.buf) > 0) {
		return
	}
	p.section(p.buf)
	p.buf = p.buf[:0]
}

func (p *pen) section(b []byte) {
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(b)))
	binary.LittleEndian.PutUint32(head[4:], sectionSum(b))
	p.write(head[:])
	p.write(b)
}

// close finishes the file and brings it to the disk.
func (p *pen) close() error {
	p.cut(true)
	p.section(nil)
	if p.err == nil {
		p.err = p.out.Flush()
	}
	if p.seal != nil && p.err == nil {
		p.err = p.seal.Close()
	}
	if p.file == nil {
		return p.err
	}
	if p.err == nil {
		p.err = p.file.Sync()
	}
	return errors.Join(p.err, p.file.Close())
}

// An eye reads a file of sections. After its first error it gives zeros, and next says false.
type eye struct {
	in  io.Reader
	buf []byte // what is left of the section
	raw []byte
	end bool
	err error
}

// readSections opens a file and has f read it to its end.
func readSections(path, magic string, ring *seal.Ring, f func(*eye) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var in io.Reader = bufio.NewReaderSize(file, 1<<20)
	if ring != nil {
		if in, err = ring.Reader(in); err != nil {
			return err
		}
	}
	e := &eye{in: in}
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != magic {
		return fmt.Errorf("%w: not a file of this kind", errSections)
	}
	if err := f(e); err != nil {
		return err
	}
	if e.next(); e.err == nil && !e.end {
		e.err = fmt.Errorf("%w: more than there should be", errSections)
	}
	return e.err
}

// next reads the following section when this one is at its end, and says whether there is something to read.
func (e *eye) next() bool {
	if e.err != nil || e.end || len(e.buf) > 0 {
		return e.err == nil && !e.end
	}
	var head [8]byte
	if _, err := io.ReadFull(e.in, head[:]); err != nil {
		e.err = fmt.Errorf("%w: %w", errSections, err)
		return false
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxSection {
		e.err = fmt.Errorf("%w: a section of %d bytes", errSections, n)
		return false
	}
	if cap(e.raw) < int(n) {
		e.raw = make([]byte, n)
	}
	e.buf = e.raw[:n]
	if _, err := io.ReadFull(e.in, e.buf); err != nil {
		e.err = fmt.Errorf("%w: %w", errSections, err)
		return false
	}
	if sectionSum(e.buf) != binary.LittleEndian.Uint32(head[4:]) {
		e.err = fmt.Errorf("%w: checksum differs", errSections)
		return false
	}
	e.end = n == 0
	return !e.end
}

// take is the next n bytes, good until next.
func (e *eye) take(n int) []byte {
	if n == 0 {
		return nil
	}
	if len(e.buf) == 0 {
		e.next()
	}
	if e.err == nil && n > len(e.buf) {
		e.err = fmt.Errorf("%w: a section ends too early", errSections)
	}
	if e.err != nil {
		return make([]byte, min(n, 8))
	}
	b := e.buf[:n]
	e.buf = e.buf[n:]
	return b
}

func (e *eye) u8() uint8    { return e.take(1)[0] }
func (e *eye) u32() uint32  { return binary.LittleEndian.Uint32(e.take(4)) }
func (e *eye) u64() uint64  { return binary.LittleEndian.Uint64(e.take(8)) }
func (e *eye) f64() float64 { return math.Float64frombits(e.u64()) }
func (e *eye) str() string  { return string(e.take(int(e.u32()))) }
