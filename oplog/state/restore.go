package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/oplog/store"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// Restore replaces the state with a snapshot. It builds and verifies a new store next to the live one and then swaps
// it in. If it fails, the state does not change. Report, unless nil, is called now and then with the bytes written
// and their total.
func (s *State) Restore(r io.Reader, report func(done, total int64)) error {
	_, err := s.restore(r, report, func(*View) (bool, error) { return true, nil })
	return err
}

// CatchUp restores a snapshot only if it is newer than the state, or of another cluster. The log may begin again
// after a snapshot that is older than the state, and with that snapshot readers would go back in time.
func (s *State) CatchUp(r io.Reader, report func(done, total int64)) (taken bool, err error) {
	return s.restore(r, report, func(of *View) (more bool, err error) {
		err = s.Read(func(own *View) error {
			more = of.Index() > own.Index() || of.Cluster() != own.Cluster()
			return nil
		})
		return more, err
	})
}

func (s *State) restore(r io.Reader, report func(done, total int64), wanted func(*View) (bool, error)) (taken bool, err error) {
	next := filepath.Join(s.dir, restoring)
	defer func() {
		if !taken {
			err = errors.Join(err, os.RemoveAll(next))
		}
	}()
	if err := os.RemoveAll(next); err != nil {
		return false, fmt.Errorf("restore: %w", err)
	}
	if err := build(next, s.opts, func(add func(k, v []byte) error) error { return receive(r, report, add) }); err != nil {
		return false, err
	}
	g, _, err := s.open(next, false)
	if err != nil {
		return false, fmt.Errorf("%w: %w", snapshot.ErrUnreadable, err)
	}
	of := &State{dir: s.dir, live: g}
	err = of.read(func(v *View) (err error) {
		taken, err = wanted(v)
		return err
	})
	if err = errors.Join(err, g.Close()); err != nil || !taken {
		return false, err
	}
	if err := s.swap(next); err != nil {
		taken = false
		return false, fmt.Errorf("restore: %w", err)
	}
	return true, nil
}

// swap makes the store in a directory the next generation. The previous one is removed when its last view ends.
func (s *State) swap(next string) error {
	s.mu.RLock()
	was := s.live
	s.mu.RUnlock()
	if was == nil {
		return oplog.Errorf(oplog.Internal, "state is closed")
	}
	dir := filepath.Join(s.dir, strconv.Itoa(was.number+1))
	if err := os.Rename(next, dir); err != nil {
		return err
	}
	g, m, err := (*generation)(nil), position{}, syncwriter.Dir(s.dir)
	if err == nil {
		g, m, err = s.open(dir, false)
	}
	if err != nil { // otherwise the next start would open it, and the next restore find its name taken
		return errors.Join(err, os.RemoveAll(dir), syncwriter.Dir(s.dir))
	}
	g.number = was.number + 1
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return errors.Join(oplog.Errorf(oplog.Internal, "state is closed"), g.Close())
	}
	s.posMu.Lock()
	s.setGeneration(g, m)
	s.posMu.Unlock()
	s.old.Go(func() {
		was.views.Wait()
		_ = was.Abandon()
		_ = os.RemoveAll(was.dir)
	})
	return nil
}

// build makes a store from rows in key order. After an error the caller removes the directory.
func build(dir string, o Options, rows snapshot.Rows) error {
	b, err := store.Build(dir, o.store())
	if err != nil {
		return err
	}
	err = b.Finish(rows(b.Add))
	if errors.Is(err, store.ErrOrder) {
		err = fmt.Errorf("%w: %w", snapshot.ErrUnreadable, err)
	}
	return err
}

// ErrNotSummed says that the rows of a snapshot do not match its sender's Sum. Restoring it would spread altered
// rows.
var ErrNotSummed = &oplog.Error{Kind: oplog.Corrupt, Text: "the rows of the snapshot are not what its sender summed"}

// receive reads the rows of a snapshot, and compares their Sum with the sender's.
func receive(r io.Reader, report func(done, total int64), add func(k, v []byte) error) error {
	at := appendRow(nil, tMeta, 0, keyPosition)
	var said position
	var got Sum
	err := snapshot.Read(r, report, func(k, v []byte) error {
		if len(k) < rowHead {
			return fmt.Errorf("%w: a key of %d bytes", snapshot.ErrUnreadable, len(k))
		}
		if bytes.Equal(k, at) {
			if err := oplog.Unpack(v, &said); err != nil {
				return fmt.Errorf("%w: its mark: %w", snapshot.ErrUnreadable, err)
			}
		}
		got.addRow(k, v)
		return add(k, v)
	})
	if err == nil && got != said.Sum {
		err = fmt.Errorf("%w: %w: they sum to %s, and it says %s", snapshot.ErrUnreadable, ErrNotSummed, got, said.Sum)
	}
	return err
}

// Copy writes the same state into another directory, sealed as the options say.
func (s *State) Copy(dir string, o Options) error {
	v, err := s.View()
	if err != nil {
		return err
	}
	defer v.Close()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err = build(filepath.Join(dir, "1"), o, func(add func(k, v []byte) error) error { return v.rows(add) })
	return errors.Join(err, syncwriter.Dir(dir))
}
