package oplog

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/cairndb/cairn/oplog/boltfile"
)

// The body of a snapshot of version 2 is the rows of the state as every node understands them, whatever they are
// encrypted with, or have behind them, on its disk. Each step is a byte and what belongs to it:
//
//	1  enter a bucket    length u32, name
//	2  a row             length u32, key, length u32, value
//	3  leave the bucket
//	0  the end
const (
	stepEnd   = 0
	stepEnter = 1
	stepRow   = 2
	stepLeave = 3
)

// bucketAt is what lies under a path of names, and the number that rows there are sealed with.
func bucketAt(path [][]byte) (id bucketID, ok bool) {
	switch len(path) {
	case 1:
		switch string(path[0]) {
		case string(bktMeta):
			return bucketID{table: tMeta}, true
		case string(bktLog):
			return bucketID{table: tLog}, true
		}
		id.table, ok = tableNamed(path[0])
		return id, ok
	case 3:
		if string(path[0]) != string(bktDatabases) || len(path[1]) != 4 {
			return id, false
		}
		id.db = DB(beUint32(path[1]))
		id.table, ok = tableNamed(path[2])
		return id, ok
	}
	return id, false
}

func tableNamed(name []byte) (tableID, bool) {
	for id, n := range tableNames {
		if string(n) == string(name) {
			return id, true
		}
	}
	return 0, false
}

// writeRows streams the rows of a transaction.
func writeRows(w io.Writer, tx *bolt.Tx, c *codec) error {
	out := bufio.NewWriterSize(w, 64<<10)
	d := dumper{out: out, c: c}
	err := tx.ForEach(func(name []byte, b *bolt.Bucket) error { return d.bucket([][]byte{name}, b) })
	if err == nil {
		err = out.WriteByte(stepEnd)
	}
	return errors.Join(err, out.Flush())
}

type dumper struct {
	out *bufio.Writer
	c   *codec
}

func (d *dumper) bytes(b []byte) error {
	var n [4]byte
	binary.BigEndian.PutUint32(n[:], uint32(len(b)))
	if _, err := d.out.Write(n[:]); err != nil {
		return err
	}
	_, err := d.out.Write(b)
	return err
}

func (d *dumper) bucket(path [][]byte, b *bolt.Bucket) error {
	if err := d.out.WriteByte(stepEnter); err != nil {
		return err
	}
	if err := d.bytes(path[len(path)-1]); err != nil {
		return err
	}
	in := &bucket{Bucket: b, c: d.c}
	known := false
	in.id, known = bucketAt(path)
	cur := &cursor{Cursor: b.Cursor(), b: in}
	for k, v := cur.Cursor.First(); k != nil; k, v = cur.Cursor.Next() {
		if v == nil { // a bucket
			inner := b.Bucket(k)
			if err := d.bucket(append(path[:len(path):len(path)], k), inner); err != nil {
				return err
			}
			continue
		}
		if !known {
			return fmt.Errorf("%w: a row in bucket %q, where none belongs", ErrState, path)
		}
		if in.id.table == tMeta && (string(k) == string(keyFmt) || string(k) == string(keySealed)) {
			continue // the file's, not the state's
		}
		k, v := cur.row(k, v)
		err := d.out.WriteByte(stepRow)
		if err = errors.Join(err, d.bytes(k), d.bytes(v)); err != nil {
			return err
		}
	}
	return d.out.WriteByte(stepLeave)
}

// A step of the rows: entered names a bucket, a row has a key, left leaves, none of these is the end.
type rowStep struct {
	kind       byte
	key, value []byte
}

// maxRow is above any key or value: a record of the log is the largest.
const maxRow = MaxRecord + 1<<20

// summed reads and adds up what was read.
type summed struct {
	*bufio.Reader
	h hash.Hash
}

func newSummed(r io.Reader) summed { return summed{bufio.NewReaderSize(r, 64<<10), sha256.New()} }

// Read implements io.Reader.
func (s summed) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.h.Write(p[:n])
	return n, err
}

// ReadByte implements io.ByteReader.
func (s summed) ReadByte() (byte, error) {
	b, err := s.Reader.ReadByte()
	if err == nil {
		s.h.Write([]byte{b})
	}
	return b, err
}

// readStep reads a step of writeRows.
func readStep(r summed) (s rowStep, err error) {
	if s.kind, err = r.ReadByte(); err != nil {
		return s, err
	}
	if s.kind == stepEnter || s.kind == stepRow {
		if s.key, err = readSized(r); err != nil {
			return s, err
		}
	}
	switch s.kind {
	case stepRow:
		s.value, err = readSized(r)
	case stepEnd, stepEnter, stepLeave:
	default:
		err = fmt.Errorf("step of kind %d", s.kind)
	}
	return s, err
}

func readSized(r summed) ([]byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(n[:])
	if size > maxRow {
		return nil, fmt.Errorf("%d bytes in one row", size)
	}
	b := make([]byte, size)
	_, err := io.ReadFull(r, b)
	return b, err
}

// builder fills a new state file with rows.
type builder struct {
	db   *bolt.DB
	c    *codec
	tx   *bolt.Tx
	path [][]byte
	in   *bucket
	held int // bytes in the transaction

	progress *progress // told of the rows that come, unless nil
}

// buildBatch is how much shares a transaction: dirty pages are kept in memory.
const buildBatch = 16 << 20

// build makes the file of a state at path from rows.
func build(path string, o Options, rows func(*builder) error) (err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fast := o
	fast.NoSync = true
	f, err := openFile(path, fast)
	if err != nil {
		return err
	}
	b := &builder{db: f.db, c: f.c}
	err = caught(func() error { return rows(b) })
	if b.tx != nil {
		if err == nil {
			err = b.tx.Commit()
		} else {
			_ = b.tx.Rollback() // the error that there is says more
		}
	}
	return errors.Join(err, f.db.Sync(), f.db.Close())
}

// enter goes into a bucket, made when it is not there.
func (b *builder) enter(name []byte) error {
	b.path = append(b.path, bytes.Clone(name))
	if len(b.path) > 3 {
		return fmt.Errorf("%w: bucket %q", ErrSnapshot, b.path)
	}
	return b.find()
}

func (b *builder) leave() error {
	if len(b.path) == 0 {
		return fmt.Errorf("%w: more buckets left than entered", ErrSnapshot)
	}
	b.path = b.path[:len(b.path)-1]
	b.in = nil
	return nil
}

// find opens the bucket of the path in the transaction there is.
func (b *builder) find() (err error) {
	if b.tx == nil {
		if b.tx, err = b.db.Begin(true); err != nil {
			return err
		}
	}
	in, err := b.tx.CreateBucketIfNotExists(b.path[0])
	for _, name := range b.path[1:] {
		if err == nil {
			in, err = in.CreateBucketIfNotExists(name)
		}
	}
	if err != nil {
		return err
	}
	id, ok := bucketAt(b.path)
	if b.in = nil; ok {
		in.FillPercent = 0.95
		b.in = &bucket{Bucket: in, id: id, c: b.c}
	}
	return nil
}

func (b *builder) put(k, v []byte) error {
	if b.in == nil {
		if len(b.path) > 0 {
			if err := b.find(); err != nil {
				return err
			}
		}
		if b.in == nil {
			return fmt.Errorf("%w: a row in bucket %q, where none belongs", ErrSnapshot, b.path)
		}
	}
	if b.in.id.table == tMeta && (string(k) == string(keyFmt) || string(k) == string(keySealed)) {
		return nil
	}
	if err := b.in.Put(k, v); err != nil {
		return err
	}
	if b.progress != nil {
		b.progress.add(len(k) + len(v))
	}
	if b.held += len(k) + len(v); b.held < buildBatch {
		return nil
	}
	b.held = 0
	if err := b.tx.Commit(); err != nil {
		return err
	}
	b.tx, b.in = nil, nil
	return nil
}

// steps takes the rows of a stream.
func (b *builder) steps(in summed) error {
	for {
		s, err := readStep(in)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSnapshot, err)
		}
		switch s.kind {
		case stepEnter:
			err = b.enter(s.key)
		case stepRow:
			err = b.put(s.key, s.value)
		case stepLeave:
			err = b.leave()
		case stepEnd:
			if len(b.path) != 0 {
				return fmt.Errorf("%w: it ends inside a bucket", ErrSnapshot)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// image takes the rows of a file whose values are stored as they are.
func (b *builder) image(r io.ReaderAt, size int64) error {
	err := boltfile.Walk(r, size, boltfile.Visitor{Enter: b.enter, Row: b.put, Leave: b.leave})
	if errors.Is(err, boltfile.ErrDamaged) {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	return err
}
