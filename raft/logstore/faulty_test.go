package logstore

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// memoryFS is a file system in memory. A crash loses a random part of what was not synced: any sectors of a file, and
// the changes of names after some point.
type memoryFS struct {
	mu    sync.Mutex
	now   map[string]*memFile   // by name
	names []map[string]*memFile // the names after each change since the last sync of the directory, which comes first
	locks map[string]bool
	op    func(op, name string) error // called before each change; may return an error; may be nil
}

type memFile struct {
	bytes  []byte
	synced []byte
}

func newMemory() *memoryFS {
	m := &memoryFS{now: map[string]*memFile{}, locks: map[string]bool{}}
	m.names = []map[string]*memFile{clone(m.now)}
	return m
}

func clone(names map[string]*memFile) map[string]*memFile {
	out := map[string]*memFile{}
	for k, v := range names {
		out[k] = v
	}
	return out
}

// crashed returns the files as a machine might find them after a loss of power.
func (m *memoryFS) crashed(rng *rand.Rand) *memoryFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := newMemory()
	for name, f := range m.names[rng.IntN(len(m.names))] {
		b := slices.Clone(f.synced)
		long := len(b)
		if len(f.bytes) > long { // any part of the appended bytes may be on disk
			long += rng.IntN(len(f.bytes) - long + 1)
		} else {
			long -= rng.IntN(long - len(f.bytes) + 1)
		}
		b = append(b, make([]byte, max(0, long-len(b)))...)[:long]
		const sector = 64 // small, so that frames are torn
		for at := 0; at < long; at += sector {
			if end := min(at+sector, long, len(f.bytes)); at < end && rng.IntN(2) == 0 {
				copy(b[at:end], f.bytes[at:end])
			}
		}
		out.now[name] = &memFile{b, slices.Clone(b)}
	}
	out.names = []map[string]*memFile{clone(out.now)}
	return out
}

// killed returns the files as a new process finds them after a kill: everything that was written.
func (m *memoryFS) killed() *memoryFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := newMemory()
	for name, f := range m.now {
		out.now[name] = &memFile{slices.Clone(f.bytes), slices.Clone(f.bytes)}
	}
	out.names = []map[string]*memFile{clone(out.now)}
	return out
}

func (m *memoryFS) before(op, name string) error {
	if m.op == nil {
		return nil
	}
	return m.op(op, filepath.Base(name))
}

func (m *memoryFS) changed() { m.names = append(m.names, clone(m.now)) }

func (m *memoryFS) MkdirAll(string) error { return nil }

func (m *memoryFS) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.before("create", name); err != nil {
		return nil, err
	}
	f := &memFile{}
	m.now[name] = f
	m.changed()
	return &memHandle{m: m, f: f, name: name}, nil
}

func (m *memoryFS) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.now[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return &memHandle{m: m, f: f, name: name}, nil
}

func (m *memoryFS) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.before("rename", to); err != nil {
		return err
	}
	f, ok := m.now[from]
	if !ok {
		return fs.ErrNotExist
	}
	delete(m.now, from)
	m.now[to] = f
	m.changed()
	return nil
}

func (m *memoryFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.before("remove", name); err != nil {
		return err
	}
	if _, ok := m.now[name]; !ok {
		return fs.ErrNotExist
	}
	delete(m.now, name)
	m.changed()
	return nil
}

func (m *memoryFS) List(string) (names []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.now {
		names = append(names, filepath.Base(name))
	}
	return names, nil
}

func (m *memoryFS) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.before("sync", dir); err != nil {
		return err
	}
	m.names = []map[string]*memFile{clone(m.now)}
	return nil
}

func (m *memoryFS) Lock(dir string) (Dir, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locks[dir] {
		return nil, ErrLocked
	}
	m.locks[dir] = true
	return memLock{m, dir}, nil
}

type memLock struct {
	m   *memoryFS
	dir string
}

func (l memLock) Sync() error { return l.m.SyncDir(l.dir) }

func (l memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.locks, l.dir)
	return nil
}

type memHandle struct {
	m      *memoryFS
	f      *memFile
	name   string
	closed bool
}

func (h *memHandle) ReadAt(b []byte, at int64) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.closed {
		return 0, fs.ErrClosed
	}
	if at >= int64(len(h.f.bytes)) {
		return 0, io.EOF
	}
	n := copy(b, h.f.bytes[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// errPart makes a write fail halfway.
var errPart = errors.New("a part was written")

func (h *memHandle) WriteAt(b []byte, at int64) (n int, err error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.closed {
		return 0, fs.ErrClosed
	}
	if err = h.m.before("write", h.name); errors.Is(err, errPart) {
		b, err = b[:len(b)/2], syscall.ENOSPC
	} else if err != nil {
		return 0, err
	}
	if end := int(at) + len(b); end > len(h.f.bytes) {
		h.f.bytes = append(h.f.bytes, make([]byte, end-len(h.f.bytes))...)
	}
	return copy(h.f.bytes[at:], b), err
}

func (h *memHandle) Sync() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.m.before("sync", h.name); err != nil {
		return err
	}
	h.f.synced = slices.Clone(h.f.bytes)
	return nil
}

func (h *memHandle) Size() (int64, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return int64(len(h.f.bytes)), nil
}

func (h *memHandle) Close() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.closed = true
	return nil
}
