package boltfile

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// A Checkpoint lets a file that can be made again from a log be written without a sync a commit. From time to time the
// file is synced and the place of its newest commit noted in a file beside it; a read transaction is held open there, so
// that bbolt overwrites none of its pages before the next note is on the disk. After a crash Rewind takes the file back to
// the note: what came later is perhaps half there, and the log has it.
//
// The note is FILE.sync: two slots, written in turn, of which the valid one with the higher number counts.
//
//	CRC-32C u32 | number u64 | SHA-256 of the root page | the first 80 bytes of meta page 0, and of meta page 1
//
// The first slot is on the disk before the file may fall behind, and FILE.sync is removed when the file is whole as it
// stands.
type Checkpoint struct {
	db   *bolt.DB
	path string // of the note
	f    *os.File
	n    uint64
	held *bolt.Tx
	how  Syncing
}

// Syncing says how files come to the disk. The zero value is right for production.
type Syncing struct {
	Not    bool                     // for tests that measure something else: a crash of the machine loses the file
	Around func(func() error) error // calls what it is given; a seam for faults
}

// Open opens a file for checkpoints, with a map larger than it: address space costs nothing. It may grow to room bytes
// while it has checkpoints; 0 where the system gives no address space, and then it must do without.
func Open(path string, o bolt.Options) (db *bolt.DB, room int64, err error) {
	room, err = Map(64<<30, func(size int) error {
		o.InitialMmapSize = size
		db, err = bolt.Open(path, 0o600, &o)
		return err
	})
	return db, room / 2, err
}

// Map opens a file with as large a map as the system gives, up to most bytes; 0 where it gives none but what the file
// needs. A file that outgrows its map stops all readers, and copies what its writer has in hand.
func Map(most int64, open func(size int) error) (size int64, err error) {
	for size = most; size >= 1<<30; size /= 8 {
		if size > math.MaxInt {
			continue
		}
		if err = open(int(size)); !errors.Is(err, syscall.ENOMEM) {
			return size, err
		}
	}
	return 0, open(0)
}

const (
	notePage  = headSize + metaSize // what a meta page holds; the rest of it is empty
	noteSize  = 4 + 8 + sha256.Size + 2*notePage
	noteEvery = 4096 // where the second slot begins: on a sector of its own
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func notePath(path string) string { return path + ".sync" }

// Begin syncs the file, notes its newest commit, and lets the file fall behind from then on.
func Begin(db *bolt.DB, how Syncing) (_ *Checkpoint, err error) {
	if how.Around == nil {
		how.Around = func(sync func() error) error { return sync() }
	}
	c := &Checkpoint{db: db, path: notePath(db.Path()), how: how}
	if err := c.syncDB(); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	slot, tx, err := c.note()
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // a read transaction's rollback cannot fail
		}
	}()
	next := c.path + ".new"
	if c.f, err = os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if _, err := c.f.WriteAt(make([]byte, 2*noteEvery), 0); err != nil { // a full disk has room for notes
		return nil, errors.Join(fmt.Errorf("checkpoint: %w", err), c.f.Close())
	}
	if err := errors.Join(c.write(slot), os.Rename(next, c.path), c.sync(func() error { return syncDir(c.path) })); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint: %w", err), c.f.Close())
	}
	c.held = tx
	db.NoSync, db.NoGrowSync = true, true
	return c, nil
}

// ErrUnsynced says that the disk did not take what was written: what a system does with such pages afterwards cannot be
// known, so nothing written since the last note may be counted on.
var ErrUnsynced = errors.New("the disk did not keep what was written")

// Take syncs the file and notes its newest commit; commits may go on meanwhile. After an error the last note stands.
func (c *Checkpoint) Take() error {
	slot, tx, err := c.note()
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := c.syncDB(); err != nil {
		_ = tx.Rollback()
		return fmt.Errorf("checkpoint: %w: %w", ErrUnsynced, err)
	}
	if err := c.write(slot); err != nil {
		_ = tx.Rollback()
		return fmt.Errorf("checkpoint: %w", err)
	}
	_ = c.held.Rollback()
	c.held = tx
	return nil
}

// Abandon leaves the file to be taken back to its last note.
func (c *Checkpoint) Abandon() error {
	_ = c.held.Rollback()
	return c.f.Close()
}

// End syncs the file, which is whole then and is synced at every commit again, and removes the note. No commit may be
// under way.
func (c *Checkpoint) End() error {
	c.db.NoSync, c.db.NoGrowSync = c.how.Not, false
	_ = c.held.Rollback()
	err := errors.Join(c.syncDB(), c.f.Close())
	if err == nil {
		err = errors.Join(os.Remove(c.path), c.sync(func() error { return syncDir(c.path) }))
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

func (c *Checkpoint) sync(f func() error) error {
	if c.how.Not {
		return nil
	}
	return f()
}

func (c *Checkpoint) syncDB() error { return c.how.Around(func() error { return c.sync(c.db.Sync) }) }

// note is the slot for the newest commit, held by the transaction.
func (c *Checkpoint) note() ([]byte, *bolt.Tx, error) {
	tx, err := c.db.Begin(false)
	if err != nil {
		return nil, nil, err
	}
	var m metas
	if _, err := tx.WriteTo(&m); !errors.Is(err, errEnough) && len(m.pages) < 2 {
		_ = tx.Rollback()
		return nil, nil, fmt.Errorf("meta pages: %w", err)
	}
	f, err := os.Open(c.db.Path())
	if err != nil {
		_ = tx.Rollback()
		return nil, nil, err
	}
	defer f.Close()
	sum, err := rootSum(f, m.pages[0])
	if err != nil {
		_ = tx.Rollback()
		return nil, nil, err
	}
	c.n++
	slot := make([]byte, 4, noteSize)
	slot = binary.BigEndian.AppendUint64(slot, c.n)
	slot = append(slot, sum...)
	slot = append(append(slot, m.pages[0]...), m.pages[1]...)
	binary.BigEndian.PutUint32(slot, crc32.Checksum(slot[4:], castagnoli))
	return slot, tx, nil
}

func (c *Checkpoint) write(slot []byte) error {
	if _, err := c.f.WriteAt(slot, int64(c.n%2)*noteEvery); err != nil {
		return err
	}
	return c.sync(c.f.Sync)
}

// metas takes the two meta pages that begin a transaction's copy and no more.
type metas struct{ pages [][]byte }

var errEnough = errors.New("enough")

func (m *metas) Write(p []byte) (int, error) {
	if len(m.pages) == 2 {
		return 0, errEnough
	}
	m.pages = append(m.pages, append([]byte(nil), p[:notePage]...))
	return len(p), nil
}

// rootSum is the hash of the root page that a meta names. The root page changes with every commit.
func rootSum(f io.ReaderAt, meta []byte) ([]byte, error) {
	size := int64(order.Uint32(meta[headSize+8:]))
	if size < minPage || size > maxPage {
		return nil, damaged("pages of %d bytes", size)
	}
	page := make([]byte, size)
	if _, err := f.ReadAt(page, int64(order.Uint64(meta[headSize+16:]))*size); err != nil {
		return nil, damaged("root page: %v", err)
	}
	sum := sha256.Sum256(page)
	return sum[:], nil
}

// Rewind takes a file that a crash left behind to its last checkpoint. One that was closed is left alone, and so is one
// that another process holds: opening it says who has it.
func Rewind(path string) error {
	note := notePath(path)
	raw, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Remove(note) // the file it speaks of is gone
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { // the lock goes with the descriptor
		return nil
	}
	slot := newest(raw)
	if slot == nil {
		return damaged("%s names no checkpoint", note)
	}
	sum, at := slot[12:12+sha256.Size], slot[12+sha256.Size:]
	if got, err := rootSum(f, at); err != nil {
		return err
	} else if string(got) != string(sum) {
		return damaged("it is not as %s says; if you have put it there yourself, remove %s", note, note)
	}
	size := int64(order.Uint32(at[headSize+8:]))
	for i := range int64(2) {
		page := make([]byte, size)
		copy(page, at[i*notePage:(i+1)*notePage])
		if _, err := f.WriteAt(page, i*size); err != nil {
			return err
		}
	}
	return f.Sync()
}

// newest is the valid slot with the higher number.
func newest(raw []byte) (slot []byte) {
	var n uint64
	for _, at := range []int{0, noteEvery} {
		if len(raw) < at+noteSize {
			continue
		}
		s := raw[at : at+noteSize]
		if binary.BigEndian.Uint32(s) == crc32.Checksum(s[4:], castagnoli) && binary.BigEndian.Uint64(s[4:]) > n {
			slot, n = s, binary.BigEndian.Uint64(s[4:])
		}
	}
	return slot
}

// SetAside renames a file, and its note with it, so that neither meets a new file of the name.
func SetAside(path, aside string) error {
	if err := os.Rename(notePath(path), notePath(aside)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(path, aside)
}

func syncDir(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
