package raft

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// savedDir returns the directory for saved lists, within the member's directory.
func savedDir(dir string) string { return filepath.Join(dir, "saved") }

// image is a snapshot of a list; without a directory it is not stored.
type image struct {
	of          *listMachine
	dir         string
	body        []byte
	index, term uint64
}

func (l *listMachine) Snapshot() (Snapshot, error) { return l.image() }

func (l *listMachine) image() (image, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, err := json.Marshal(map[string]any{"Index": l.Index, "Term": l.Term, "Items": l.Items})
	return image{l, l.dir, b, l.Index, l.Term}, err
}

// Save saves the list as of the snapshot, or as of beforeSaving's return if that is set.
func (i image) Save(name string) (index, term uint64, err error) {
	if i.of != nil && i.of.beforeSaving != nil {
		i.of.beforeSaving()
		if i, err = i.of.image(); err != nil {
			return 0, 0, err
		}
	}
	if i.dir == "" {
		return i.index, i.term, nil
	}
	b := base64.StdEncoding.AppendEncode(nil, i.body) // encoded, because a test searches for readable records
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return i.index, i.term, errors.Join(os.MkdirAll(i.dir, 0o700), os.WriteFile(filepath.Join(i.dir, name), b, 0o600))
}

func (image) Release() {}

// OpenSnapshot rejects a changed file.
func (l *listMachine) OpenSnapshot(name string, _ uint64) (io.ReadCloser, int64, error) {
	b, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil {
		return nil, 0, err
	}
	body := b[:max(len(b)-4, 0)]
	if len(b) < 4 || binary.BigEndian.Uint32(b[len(body):]) != crc32.ChecksumIEEE(body) {
		return nil, 0, oplog.Errorf(oplog.Corrupt, "saved list %s differs from what was written", name)
	}
	return io.NopCloser(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(body))), int64(len(body)), nil
}

func (l *listMachine) RetainSnapshots(names []string) error {
	saved, err := os.ReadDir(l.dir)
	if l.dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range saved {
		if !slices.Contains(names, e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(l.dir, e.Name())))
		}
	}
	return err
}
