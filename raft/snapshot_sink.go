package raft

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/syncwriter"
	"github.com/cairndb/cairn/raft/recovery"
)

// step runs a create, a write or a close inside the seam for faults.
func (s snapshots) step(op string, do func() error) error {
	if seam := s.n.cfg.SnapshotStep; seam != nil {
		return seam(op, do)
	}
	return do()
}

// Create implements hraft.SnapshotStore.
func (s snapshots) Create(v hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, t hraft.Transport) (sink hraft.SnapshotSink, err error) {
	err = s.step("create", func() error {
		to, err := s.SnapshotStore.Create(v, index, term, c, at, t)
		if err != nil {
			return err
		}
		k := &snapshotSink{SnapshotSink: to, snaps: s}
		sink = k
		m := &hraft.SnapshotMeta{Version: v, ID: to.ID(), Index: index, Term: term, Configuration: c, ConfigurationIndex: at}
		if err := k.begin(m); err != nil {
			return errors.Join(err, k.Cancel())
		}
		return nil
	})
	return sink, err
}

// snapshotSink writes a snapshot: through the cipher, if the node is encrypted, into the library's sink. The library syncs a snapshot when it
// is whole, and syncs of the log would wait for all of it then, so the file is synced while it is written.
type snapshotSink struct {
	hraft.SnapshotSink
	snaps  snapshots
	file   *os.File     // the library's, to sync it; nil without syncs
	sealed *seal.Writer // nil: plain, or ended
	w      io.Writer
}

// begin writes the sum of the snapshot's description, and puts the cipher and the syncs before the library's sink.
func (k *snapshotSink) begin(m *hraft.SnapshotMeta) (err error) {
	dir := m.ID + ".tmp" // where the library writes
	cfg := &k.snaps.n.cfg
	if err := recovery.WriteFile(filepath.Join(k.snaps.path(dir), sumFile), sumOf(m), !cfg.NoSync); err != nil {
		return err
	}
	k.w = k.SnapshotSink
	if !cfg.NoSync {
		if k.file, err = os.OpenFile(filepath.Join(k.snaps.path(dir), stateFile), os.O_WRONLY, 0); err != nil {
			return err
		}
		k.w = &syncwriter.Writer{W: k.w, File: k.file}
	}
	if cfg.Keys != nil {
		k.sealed, err = cfg.Keys.Writer(k.w)
		k.w = k.sealed
	}
	return err
}

// Write implements io.Writer.
func (k *snapshotSink) Write(b []byte) (n int, err error) {
	err = k.snaps.step("write", func() (err error) {
		n, err = k.w.Write(b)
		return err
	})
	return n, err
}

// Close implements hraft.SnapshotSink: once the snapshot is whole, older ones go. The library may close a sink that it has closed or cancelled.
func (k *snapshotSink) Close() error {
	return k.snaps.step("close", func() error {
		if w := k.sealed; w != nil {
			k.sealed = nil
			if err := w.Close(); err != nil {
				return errors.Join(err, k.Cancel())
			}
		}
		_ = k.file.Close() // the library syncs what it writes, and says what went wrong
		if err := k.SnapshotSink.Close(); err != nil {
			return err
		}
		if !k.snaps.n.cfg.NoSync { // the library syncs the files and the name of their directory; the log is cut behind them next
			if err := syncwriter.Dir(k.snaps.path(k.ID())); err != nil {
				return err
			}
		}
		return k.snaps.reap()
	})
}

// Cancel implements hraft.SnapshotSink.
func (k *snapshotSink) Cancel() error {
	k.sealed = nil
	_ = k.file.Close()
	return k.SnapshotSink.Cancel()
}
