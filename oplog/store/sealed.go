package store

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cairndb/cairn/oplog/seal"
)

// checkSeal says so when the files in a directory are sealed and there are no keys, or the other way round: no
// damage, and nothing is to be moved aside for it.
func checkSeal(fs vfs.FS, dir string, keys *seal.Ring) error {
	names, err := fs.List(dir)
	if err != nil {
		return nil // a new one
	}
	var sealed, plain bool
	for _, name := range names { // more than one, for in one of them the mark may be damaged
		if !strings.HasPrefix(name, "MANIFEST") && !strings.HasPrefix(name, "OPTIONS") {
			continue
		}
		f, err := fs.Open(fs.PathJoin(dir, name))
		if err != nil {
			return err
		}
		head := make([]byte, 8)
		n, _ := io.ReadFull(f, head) // an empty file is neither
		if err := f.Close(); err != nil {
			return err
		}
		is := seal.IsSealed(head[:n])
		sealed, plain = sealed || is, plain || !is && n == len(head)
	}
	switch {
	case sealed && keys == nil:
		return seal.ErrSealed
	case !sealed && plain && keys != nil:
		return seal.ErrPlain
	}
	return nil
}

// sealedFS is a file system whose files are sealed whole. A file is written once, from its beginning, and read when
// that has ended, or after a crash up to its last sync.
type sealedFS struct {
	vfs.FS
	keys *seal.Ring
}

// Create implements vfs.FS.
func (s sealedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	w, err := s.keys.Writer(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &sealedWriter{f, w}, nil
}

// ReuseForWrite implements vfs.FS.
func (s sealedFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := s.FS.Remove(old); err != nil {
		return nil, err
	}
	return s.Create(name, c)
}

// OpenReadWrite implements vfs.FS. Pebble writes into a file that is there for its own logs alone.
func (s sealedFS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, &os.PathError{Op: "write into the middle of an encrypted file", Path: name, Err: errors.ErrUnsupported}
}

// Open implements vfs.FS.
func (s sealedFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := s.FS.Open(name, o...)
	if err != nil || isLog(name) {
		return f, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return f, nil
	}
	in := &sealedReader{File: f, info: info}
	if err == nil {
		in.at, err = s.keys.At(f, info.Size())
	}
	if errors.Is(err, seal.ErrPlain) { // all of the directory is sealed (checkSeal)
		err = seal.ErrDamaged
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "open", Path: name, Err: corruption(err)}, f.Close())
	}
	return in, nil
}

// Stat implements vfs.FS.
func (s sealedFS) Stat(name string) (vfs.FileInfo, error) {
	info, err := s.FS.Stat(name)
	if err != nil || info.IsDir() || info.Size() == 0 { // a lock has nothing in it
		return info, err
	}
	f, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// Unwrap implements vfs.FS.
func (s sealedFS) Unwrap() vfs.FS { return s.FS }

// plainInfo is a file's info with the size of its plain text.
type plainInfo struct {
	vfs.FileInfo
	size int64
}

// Size implements os.FileInfo.
func (i plainInfo) Size() int64 { return i.size }

// sealedReader is a sealed file that is open for reading.
type sealedReader struct {
	vfs.File
	info vfs.FileInfo
	at   *seal.FileAt
	next int64
}

// ReadAt implements vfs.File.
func (f *sealedReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.at.ReadAt(p, off)
	return n, corruption(err)
}

// corruption marks damage as what pebble calls it: it tells the store of that alone (DataCorruption).
func corruption(err error) error {
	if errors.Is(err, seal.ErrDamaged) {
		return errors.Join(err, pebble.ErrCorruption)
	}
	return err
}

// Read implements vfs.File.
func (f *sealedReader) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.next)
	f.next += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// Stat implements vfs.File.
func (f *sealedReader) Stat() (vfs.FileInfo, error) { return plainInfo{f.info, f.at.Size()}, nil }

// Prefetch implements vfs.File. It does nothing, because offsets on the disk differ.
func (f *sealedReader) Prefetch(int64, int64) error { return nil }

// Fd implements vfs.File. It returns no descriptor, so that nobody reads the sealed bytes.
func (f *sealedReader) Fd() uintptr { return vfs.InvalidFd }

// sealedWriter is a sealed file that is open for writing.
type sealedWriter struct {
	vfs.File
	w *seal.Writer
}

// Write implements vfs.File.
func (f *sealedWriter) Write(p []byte) (int, error) { return f.w.Write(p) }

// Sync implements vfs.File. What was written before it is readable after a crash.
func (f *sealedWriter) Sync() error { return f.w.Sync() }

// SyncData implements vfs.File.
func (f *sealedWriter) SyncData() error { return f.w.Sync() }

// SyncTo implements vfs.File: it promises nothing, and starts what a Sync would wait for.
func (f *sealedWriter) SyncTo(int64) (bool, error) { return f.File.SyncTo(1 << 62) }

// Preallocate implements vfs.File.
func (f *sealedWriter) Preallocate(int64, int64) error { return nil }

// Fd implements vfs.File.
func (f *sealedWriter) Fd() uintptr { return vfs.InvalidFd }

// Close implements vfs.File.
func (f *sealedWriter) Close() error { return errors.Join(f.w.Close(), f.File.Close()) }
