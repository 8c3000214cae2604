package text

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
	berrors "go.etcd.io/bbolt/errors"
)

// marker is the file that says the directory once held a stored state. With it, and without the state, the index has
// lost its segments.
const marker = "cairn.format"

// Open opens the index in cfg.Dir, or creates it. The error for a directory without a readable index wraps ErrCorrupt:
// the owner removes the directory and opens an empty one.
func Open(cfg Config) (*Index, error) {
	cfg = cfg.withDefaults()
	x := &Index{
		cfg: cfg, wake: make(chan struct{}, 1), panicked: make(chan struct{}, 1), groups: make(map[uint32]*Totals),
		infos:    make(map[uint64]*segmentInfo),
		progress: progress{seq: 1, flushing: 1, persisted: 1}, tail: tail{open: newBlock()},
	}
	x.changed = sync.NewCond(&x.mu)
	if cfg.Dir == "" {
		x.snap, x.released = &snapshot{}, true
		return x, nil
	}
	installHooks()
	if err := x.openStore(); err != nil {
		return nil, fmt.Errorf("open text index %s: %w", cfg.Dir, err)
	}
	x.tasks.Go(x.runIndexer)
	return x, nil
}

// openStore opens Bleve and rebuilds the row table and totals from its segments.
func (x *Index) openStore() (err error) {
	x.queue = bleve.NewAnalysisQueue(1) // documents arrive analysed: it only passes them on
	if x.store, err = x.openScorch(); err != nil {
		x.queue.Close()
		return err
	}
	defer func() {
		if err != nil {
			x.replaceSnapshot(nil)
			x.store.Close()
			x.queue.Close()
		}
	}()
	snap, err := x.load()
	if err != nil {
		return err
	}
	x.replaceSnapshot(snap)
	return x.checkState(snap)
}

// openScorch opens the store with its own configuration: Bleve keeps what
// it is given. unsafe_batch lets a batch return when it is searchable; the log
// makes changes durable.
func (x *Index) openScorch() (store bleve.Index, err error) {
	defer func() {
		if err != nil && store != nil {
			abandon(store)
		}
	}()
	defer recoverCorrupt(&err)
	if err := checkRoot(x.cfg.Dir); err != nil {
		return nil, err
	}
	store, err = scorch.NewScorch(scorch.Name, map[string]any{
		"path":                   x.cfg.Dir,
		"unsafe_batch":           true,
		"bolt_timeout":           "2s",
		"eventCallbackName":      hookName,
		"asyncErrorCallbackName": hookName,
		"scorchPersisterOptions": map[string]any{
			"PersisterNapTimeMSec":      50,
			"PersisterNapUnderNumFiles": 1000,
		},
	}, x.queue)
	if err != nil {
		return nil, err
	}
	opened.Store(store, x)
	return store, classify(store.Open())
}

// abandon closes a store that did not open. It may be half built, so a panic of Bleve is swallowed.
func abandon(store bleve.Index) {
	defer opened.Delete(store)
	var err error
	defer recoverCorrupt(&err)
	store.Close()
}

// classify separates a damaged index, which may be removed, from a machine in trouble.
func classify(err error) error {
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%w: %w", ErrLocked, err)
	case errors.As(err, &errno) && errno != syscall.ENOENT && errno != syscall.EINVAL:
		return err
	}
	return corrupt(err)
}

// load reads every segment's rows. A row that Bleve has deleted but still holds is dead here as well.
func (x *Index) load() (*snapshot, error) {
	r, err := x.store.Reader()
	if err != nil {
		return nil, fmt.Errorf("bleve reader: %w", err)
	}
	reader := r.(*scorch.IndexSnapshot)
	snap := &snapshot{reader: reader}
	for _, s := range reader.Segments() {
		deleted, first := s.Deleted(), len(x.restored)
		if path := pathOf(s.Segment()); path != "" {
			if err := verify(context.Background(), path, 0); err != nil {
				reader.Close()
				return nil, err
			}
		}
		count := int(s.Segment().Count())
		place := make([]int, count) // in restored, plus one
		x.restored = slices.Grow(x.restored, count)
		rows, err := loadRows(s.Segment(), func(doc, row, group uint32, length uint16) {
			p, _ := x.rows.at(row)
			dead := deleted != nil && deleted.Contains(doc)
			switch {
			case p == nil && dead:
				p, i := x.rows.add(row, group, length)
				p.died[i].Store(1)
				x.rows.deaths++
			case p == nil:
				x.rows.add(row, group, length)
				x.countLocked(group, length)
				x.restored = append(x.restored, Restored{Row: row, Length: uint32(length)})
				place[doc] = len(x.restored)
			}
		})
		if err == nil {
			tagged := 0
			err = loadTags(s.Segment(), func(doc uint32, tag Tag) {
				if at := place[doc]; at > 0 {
					x.restored[at-1].Tag = tag
					tagged++
				}
			})
			if err == nil && tagged != len(x.restored)-first {
				err = corrupt(fmt.Errorf("segment tags %d of %d rows", tagged, len(x.restored)-first))
			}
		}
		if err != nil {
			reader.Close()
			return nil, err
		}
		info := &segmentInfo{id: s.Id(), rows: rows}
		x.infos[info.id] = info
		snap.segments = append(snap.segments, info)
	}
	slices.SortFunc(x.restored, func(a, b Restored) int { return cmp.Compare(a.Row, b.Row) })
	return snap, nil
}

// checkState checks the stored state, and compares it with the marker.
func (x *Index) checkState(snap *snapshot) error {
	val, err := snap.reader.GetInternal([]byte(keyState))
	if err != nil {
		return corrupt(err)
	}
	if val != nil {
		if err := checkFormat(val); err != nil {
			return err
		}
		return x.writeMarker()
	}
	switch _, err = os.Stat(filepath.Join(x.cfg.Dir, marker)); {
	case err == nil:
		return corrupt(errors.New("stored state is gone"))
	case errors.Is(err, os.ErrNotExist):
		return nil
	}
	return err
}

// writeMarker writes the marker file, once.
func (x *Index) writeMarker() error {
	if x.marked {
		return nil
	}
	err := os.WriteFile(filepath.Join(x.cfg.Dir, marker), []byte(strconv.Itoa(format)+"\n"), 0o600)
	x.marked = err == nil
	return err
}
