package index

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A checkpoint holds the columns and the vectors' codes as they were at one index of the log, so that the next start
// reads from the state only what happened after it. This struct is its head: it names the files, per database, that
// belong to it.
type checkpoint struct {
	Format    int                        `json:"format"`
	Cluster   string                     `json:"cluster"`
	At        oplog.Index                `json:"at"`
	Time      oplog.HLC                  `json:"time"` // of the newest entry in it
	Databases map[oplog.DB]databaseFiles `json:"databases"`
}

// databaseFiles describes the files of one database.
type databaseFiles struct {
	Dir    string      `json:"dir"`
	Epoch  uint32      `json:"epoch"` // of the embedder whose vectors these are
	Pieces []pieceFile `json:"pieces"`

	At      oplog.Index `json:"at"`   // the files contain every entry up to this one
	Open    bool        `json:"open"` // the index was open when the checkpoint was written
	Counted vectorCount `json:"counted"`
}

// savedFiles describes the content of a database's files.
type savedFiles struct {
	databaseFiles
	version uint64 // database.version
}

const checkpointFile = "checkpoint"

// checkpointState tracks an index's checkpoints. The goroutine that holds Index.following owns it, and lends it to
// the writer that it starts until that writer closes done.
type checkpointState struct {
	cluster string
	at      oplog.Index
	time    oplog.HLC
	partial bool         // work beyond at was begun and has not succeeded: no checkpoint may be written
	changes atomic.Int64 // rows put since the last checkpoint
	written oplog.Index  // where the last one ends
	last    map[oplog.DB]databaseFiles
	done    chan struct{} // closed when the writer is done; nil when none was started
}

// busy reports whether a checkpoint is being written.
func (k *checkpointState) busy() bool {
	if k.done == nil {
		return false
	}
	select {
	case <-k.done:
		k.done = nil
		return false
	default:
		return true
	}
}

// due adds to the number of changes, so that the next step writes a checkpoint.
func (k *checkpointState) due(changes int) { k.changes.Add(int64(changes)) }

// wait waits for the checkpoint that is being written.
func (k *checkpointState) wait() {
	if k.done != nil {
		<-k.done
		k.done = nil
	}
}

// checkpoint starts writing a checkpoint in the background when enough rows have changed and none is being written.
func (x *Index) checkpoint() {
	k := &x.checkpoints
	behind := k.at > k.written+maxBehind // entries of closed indexes count as no change, and the next start reads them
	if k.changes.Load() < int64(x.cfg.piece) && !behind || k.busy() {
		return
	}
	x.startCheckpoint()
}

// startCheckpoint starts to write a checkpoint in the background. The caller knows that none is being written.
func (x *Index) startCheckpoint() {
	k, done := &x.checkpoints, make(chan struct{})
	write := x.captureCheckpoint()
	k.done, k.written = done, k.at
	k.changes.Store(0)
	go func() {
		defer close(done)
		write()
	}()
}

// A capture holds one database of a checkpoint that is being written.
type capture struct {
	id       oplog.DB
	database *database
	version  uint64
	files    databaseFiles // of the last checkpoint, and the new piece
	changed  bool          // there is a new piece
	piece    pieceWriter
}

// captureCheckpoint captures every database at this moment, under the lock, and returns the function that writes them
// to disk without it. Only the goroutine that calls Follow may call it.
func (x *Index) captureCheckpoint() func() {
	k := &x.checkpoints
	head := checkpoint{Format: indexFormat, Cluster: k.cluster, At: k.at, Time: k.time, Databases: map[oplog.DB]databaseFiles{}}
	var all []capture
	x.mu.RLock()
	behind := x.captureParked(&head)
	for id, d := range x.dbs {
		if d.memory || x.opening[id] != nil { // opened by a question and lacks what was deferred: the next start reads the state
			continue
		}
		last, ok := k.last[id]
		p := capture{id: id, database: d, version: d.version.Load(), files: last}
		if dir := filepath.Base(filepath.Dir(d.dir)); !ok || last.Dir != dir || d.captured != p.version {
			p.changed = true
			p.piece, p.files.Pieces = d.capturePiece(k.at, x.cfg.piece, !ok || last.Dir != dir || last.Epoch != d.epoch)
			p.files.Dir, p.files.Epoch, d.captured = dir, d.epoch, p.version
		}
		p.files.At, p.files.Open, p.files.Counted = head.At, true, d.withVectors()
		all = append(all, p)
	}
	x.mu.RUnlock()
	x.openBehind(behind)
	return func() {
		var err error
		for i := range all {
			p := &all[i]
			if p.changed {
				if err = x.save(p.files.Dir, &p.piece); err != nil {
					break
				}
			}
			head.Databases[p.id] = p.files
		}
		if err == nil {
			err = x.saveHead(head)
		}
		if err != nil { // the files on disk may be incomplete: the next checkpoint writes everything
			x.cfg.Logger.Warn("checkpoint of the index failed", "err", err)
			k.last = nil
			return
		}
		k.last = head.Databases
		for _, p := range all {
			p.database.saved.Store(&savedFiles{p.files, p.version})
		}
		x.tidyFiles(head.Databases)
		x.cfg.Logger.Debug("checkpoint of the index written", "index", head.At)
	}
}

// capturePiece captures the next piece of a database. whole makes it the only one. It returns the piece's writer, and
// the files of the checkpoint with it.
func (d *database) capturePiece(at oplog.Index, unit int, whole bool) (w pieceWriter, files []pieceFile) {
	kept, next := d.nextPiece(at, unit, whole)
	w = pieceWriter{piece: next, cols: d.cols.view(), seq: d.seq, top: oplog.Seq(d.bySeq.top.Load()), facets: d.facets,
		sessions: d.sessions, vectors: d.vectors.Load()}
	for _, p := range kept {
		files = append(files, p.pieceFile)
	}
	return w, append(files, next.pieceFile)
}

// captureParked adds the files of closed indexes to the head, and up to which index they are complete: the next start
// reads the rest from the log. It returns the databases that are too far behind for that. mu of the index is held.
func (x *Index) captureParked(head *checkpoint) (behind []oplog.DB) {
	for id, files := range x.parked {
		files.At, files.Open, files.Counted = head.At, false, x.counted[id]
		if o := x.opening[id]; o != nil && o.behind {
			files.At = o.since
			if head.At-o.since > maxBehind {
				behind = append(behind, id)
			}
		}
		head.Databases[id] = files
	}
	return behind
}

// saveHead replaces the head file, which makes the new checkpoint the one that the next start loads. The state is
// flushed first: a checkpoint ahead of the state on disk would be rejected after a crash.
func (x *Index) saveHead(head checkpoint) error {
	raw, err := json.Marshal(head)
	if err != nil {
		return err
	}
	path := filepath.Join(x.cfg.Dir, checkpointFile)
	p := newSectionWriter(path+".new", headMagic, x.cfg.Keys)
	p.section(raw)
	if err := p.close(); err != nil {
		return err
	}
	if err := x.cfg.State.Flush(); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncwriter.Dir(x.cfg.Dir)
}

// save writes a piece.
func (x *Index) save(dir string, p *pieceWriter) error {
	dir = filepath.Join(x.cfg.Dir, dir)
	out := newSectionWriter(filepath.Join(dir, p.File), rowsMagic, x.cfg.Keys)
	p.write(out)
	if err := out.close(); err != nil {
		return err
	}
	return syncwriter.Dir(dir)
}

// tidyFiles removes the pieces that the current checkpoint does not name.
func (x *Index) tidyFiles(now map[oplog.DB]databaseFiles) {
	for _, s := range now {
		keep := map[string]bool{}
		for _, p := range s.Pieces {
			keep[p.File] = true
		}
		dir := filepath.Join(x.cfg.Dir, s.Dir)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // the database was dropped
		}
		for _, e := range entries {
			if n := e.Name(); !keep[n] && strings.HasPrefix(n, "rows-") {
				if err := os.Remove(filepath.Join(dir, n)); err != nil {
					x.cfg.Logger.Warn("old checkpoint file not removed", "path", filepath.Join(dir, n), "err", err)
				}
			}
		}
	}
}
