package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A Builder makes a store of rows that come in the order of their keys: it writes tables, and the store takes them
// over as they are, at the speed of the disk and with the memory of one.
type Builder struct {
	dir  string
	db   *pebble.DB
	disk *disk
	o    *pebble.Options

	w      *sstable.Writer
	size   int // of its rows
	tables []string
	last   []byte
	err    error
}

// tableBytes is the size of the rows in a table.
const tableBytes = 32 << 20

// Build begins a store in a directory that is not there yet. Finish it, whatever becomes of it.
func Build(dir string, o Options) (*Builder, error) {
	d := newDisk(o)
	s := &Store{disk: d}
	b := &Builder{dir: dir, disk: d, o: s.options(o)}
	b.o.DisableAutomaticCompactions = true // there is nothing to merge
	var err error
	if b.db, err = openDB(dir, b.o, d); err != nil {
		return nil, err
	}
	return b, nil
}

// ErrOrder says that a row came out of its order.
var ErrOrder = errors.New("rows are not in the order of their keys")

// Add takes the next row.
func (b *Builder) Add(key, value []byte) error {
	if b.err != nil {
		return b.err
	}
	if b.last != nil && string(key) <= string(b.last) {
		b.err = ErrOrder
		return b.err
	}
	b.last = append(b.last[:0], key...)
	if b.w == nil {
		b.err = b.begin()
	}
	if b.err == nil {
		b.err = b.w.Set(key, value)
	}
	if b.size += len(key) + len(value); b.err == nil && b.size >= tableBytes {
		b.err = b.end()
	}
	return b.err
}

func (b *Builder) begin() error {
	path := filepath.Join(b.dir, fmt.Sprintf("%06d.building", len(b.tables)))
	f, err := b.o.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	b.tables = append(b.tables, path)
	b.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), b.o.MakeWriterOptions(len(b.o.Levels)-1, b.db.TableFormat()))
	return nil
}

func (b *Builder) end() error {
	w := b.w
	b.w, b.size = nil, 0
	return w.Close()
}

// Finish ends the store: whole and on the disk, unless it returns an error, or was told of one.
func (b *Builder) Finish(failed error) (err error) {
	err = errors.Join(failed, b.err)
	if b.w != nil {
		err = errors.Join(err, b.end())
	}
	if err == nil && len(b.tables) > 0 {
		err = b.db.Ingest(context.Background(), b.tables)
	}
	err = errors.Join(err, b.db.Close())
	return errors.Join(b.disk.err(), err)
}
