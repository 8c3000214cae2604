package index

import (
	"context"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
)

// database is the index of one database. One goroutine, Follow's, calls put; any goroutine may search. put holds mu
// while it changes memory, a search only while it copies a few pointers (capture): neither holds it over I/O or
// analysis.
type database struct {
	dir    string
	words  *text.Index
	cols   columns
	facets *facets
	bySeq  seqTable
	names  names

	vectors atomic.Pointer[vector.Store] // nil before the first vector
	edits   atomic.Uint64                // odd while rows are being replaced

	memory bool // has no files
	usage
	checkpointed

	mu  sync.RWMutex
	seq uint64 // number of the last change
	conversations

	followed
	unconfirmed
}

// followed holds the fields that only put's goroutine uses.
type followed struct {
	strings     map[string]string // one copy of each speaker
	epoch       uint32            // of the embedder that made the vectors
	emptyChunks []int             // chunks of columns whose rows are all dead
	pending     *changeover       // nil: the database does not change to another embedder
	asOf        oplog.Index       // of the state that the first rows were read from
	partition   *vector.Partition // how vectors are divided; nil: they are not
}

// usage counts the callers that keep a database open, and records when it was last used.
type usage struct {
	users atomic.Int64 // searches and others; grows under Index.mu
	used  atomic.Int64 // the last question, or for one with files the last row; unix nanoseconds
}

// checkpointed tracks how far the files of a database lag behind it.
type checkpointed struct {
	version atomic.Uint64              // raised by each change that a checkpoint has to have
	saved   atomic.Pointer[savedFiles] // the newest checkpoint of it on disk; nil without one

	// The goroutine that calls Follow owns these.
	captured  uint64  // version of the last checkpoint that was started
	pieces    []piece // its pieces; nil: the next checkpoint writes everything
	marks     marks   // changes for the next piece
	capturing uint64  // number of that piece
}

// unconfirmed holds rows that an earlier run left on disk and the state has not confirmed yet.
type unconfirmed struct {
	adopted      map[oplog.Seq]adoptedRow // rows that the state may confirm
	orphans      map[uint32]struct{}      // rows that the state contradicts
	withoutWords []oplog.Seq              // memories of the checkpoint that the text index lacks

	withoutVectors bool              // the vectors in the files are of a former embedder
	assigned       vector.Assignment // partitions of rows in the files, until repartition has read it
}

// An adoptedRow is a row that an earlier run left on disk.
type adoptedRow struct {
	row, revision, length uint32
}

func newDatabase(dir string, words *text.Index) *database {
	return &database{dir: dir, words: words, names: newNames(), conversations: newConversations(),
		checkpointed: checkpointed{capturing: 1}, seq: 1, facets: newFacets(), followed: followed{strings: map[string]string{}}}
}

// drop closes the index and removes its files.
func (d *database) drop() {
	d.words.Close()
	if d.memory {
		return
	}
	os.RemoveAll(filepath.Dir(d.dir)) // the next Open removes what this leaves
}

// put brings rows up to date: when it returns, searches find all of them, or no longer find them.
//
// Invariant: edits is odd while a replaced row is dead and its successor not yet added; a search that saw it odd, or
// saw it change, runs again.
func (d *database) put(ctx context.Context, changes []change) error {
	if err := d.words.Ready(ctx); err != nil {
		return err
	}
	d.version.Add(1)
	work, replaced := d.prepare(changes)
	if replaced {
		d.edits.Add(1)
		defer d.edits.Add(1)
	}
	var add []text.Document
	var del []uint32
	d.mu.Lock()
	d.seq++
	for i := range work {
		w := &work[i]
		m := w.m
		old, known := d.rowOf(m.Seq)
		switch {
		case w.hasNoRow():
			if known {
				del = append(del, d.markDead(old))
				d.leaveSession(d.columnAt(old).Session, m.Seq)
			}
			d.bySeq.set(m.Seq, 0)
			continue
		case known && d.columnAt(old).revision == textVersion(m):
			d.markRow(old)
			d.columnAt(old).update(m)
			rows := d.cols.view()
			if f := d.facet(facetOf(m)); f != rows.facet(old).Load() {
				d.removeFromFacet(&rows, old)
				d.addToFacet(&rows, old, f)
			}
			if w.unit != nil { // embedded after it was stored
				d.vectors.Load().Put(old, w.code)
			}
			continue
		case known:
			del = append(del, d.markDead(old))
		}
		row := d.add(w, old, known)
		if !w.onDisk {
			add = append(add, w.doc.As(row, group(m.Namespace), text.Tag{Number: uint64(m.Seq), Revision: textVersion(m)}))
		}
	}
	if d.facets.attributes.sweep(d.cols.view()) {
		d.pieces = nil
	}
	d.reorderSessions()
	d.freeDeadRows()
	d.mu.Unlock()
	if len(add)+len(del) == 0 {
		return nil
	}
	return d.words.ApplyDocuments(add, del)
}

// freeDeadRows frees the memory of dead rows, unless some of them may still be confirmed as rows of an earlier run.
func (d *database) freeDeadRows() {
	if len(d.adopted) > 0 {
		return
	}
	if len(d.emptyChunks) > 0 {
		d.emptyChunks = d.cols.freeChunks(d.emptyChunks)
		clear(d.strings) // later rows get a second copy of a speaker that live rows have
	}
	d.freeSessions()
}

func (d *database) rowOf(seq oplog.Seq) (row uint32, ok bool) {
	n := d.bySeq.get(seq)
	return n - 1, n != 0
}

func (d *database) columnAt(row uint32) *column {
	s := d.cols.view()
	return s.at(row)
}

// add makes a row, in the place of an old one if its memory was corrected.
func (d *database) add(w *prepared, old uint32, corrected bool) (row uint32) {
	if row = w.row; !w.onDisk {
		row = d.cols.next()
	}
	rows := columnView{chunks: *d.cols.chunks.Load()}
	col := rows.at(row)
	d.fillColumn(col, w)
	*rows.stops(row) = w.stops
	d.addToFacet(&rows, row, d.facet(facetOf(w.m)))
	for _, a := range w.attributes {
		d.markValue(a.Name, d.facets.attributes.add(a, row))
	}
	oldSession := uint32(0)
	if corrected {
		oldSession = d.columnAt(old).Session
	}
	d.joinSession(col, w.m, oldSession)
	if w.unit != nil {
		d.vectors.Load().Put(row, w.code)
	}
	if w.onDisk {
		rows.died(row).Store(0)
		d.pieces = nil // the row may be older than the last piece
	} else {
		d.cols.publish()
	}
	d.bySeq.set(w.m.Seq, row+1)
	return row
}

// group returns a namespace's number in the text index. Two namespaces whose hashes collide share their statistics,
// on every replica alike.
func group(namespace string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(namespace))
	return max(h.Sum32(), 1) // 0 belongs to no namespace
}

// fillColumn fills a column from a memory.
func (d *database) fillColumn(col *column, w *prepared) {
	m := w.m
	d.namespace(m.Namespace)
	col.seq, col.revision, col.updated = m.Seq, textVersion(m), int64(m.Updated)
	col.Row = rank.Row{RID: rank.MakeRID(m.RID), Created: int64(m.Created), Accessed: int64(m.Accessed),
		Importance: m.Importance, HalfLife: m.HalfLife,
		Length: w.length, Speaker: d.intern(speaker(m)), Asks: strings.HasSuffix(strings.TrimSpace(m.Text), "?"),
		Refers: w.refers, Timed: w.times.Any, Said: w.times.Day, SaidDay: w.times.Exact,
		Distrust: uint8(oplog.TrustBelow(m.Trust, oplog.TrustAgent))}
}

// intern returns the copy of a string that all rows share.
func (d *database) intern(s string) string {
	if shared, ok := d.strings[s]; ok {
		return shared
	}
	s = strings.Clone(s)
	d.strings[s] = s
	return s
}

// joinSession puts a row's memory into its session, and takes it out of the one that it was in before.
func (d *database) joinSession(col *column, m *oplog.Memory, oldSession uint32) {
	if m.Session != "" {
		_, col.Session = d.session(m.Namespace, m.Session)
		d.count(col, uint64(col.Length))
	}
	if col.Session == oldSession {
		return
	}
	d.leaveSession(oldSession, m.Seq)
	if col.Session != 0 {
		d.enterSession(col.Session, m.Seq)
	}
}

// markDead records that the current change ended a row, and removes it from vectors and counters.
func (d *database) markDead(row uint32) uint32 {
	rows := d.cols.view()
	c := rows.at(row)
	d.removeFromFacet(&rows, row)
	d.facets.attributes.rowDied()
	rows.died(row).Store(d.seq)
	d.markRow(row)
	if v := d.vectors.Load(); v != nil {
		v.Delete(row)
	}
	if d.pending != nil && d.pending.store != nil {
		d.pending.store.Delete(row)
	}
	if c.Session != 0 {
		d.count(c, -uint64(c.Length))
	}
	return row
}

// speaker returns who said a memory: the name given with it, or, as in transcripts, the text before its first
// colon.
func speaker(m *oplog.Memory) string {
	if m.Speaker != "" {
		return m.Speaker
	}
	name, _, ok := strings.Cut(m.Text[:min(len(m.Text), 64)], ": ")
	if !ok || m.Session == "" || strings.ContainsAny(name, ".!?,;\n") || strings.Count(name, " ") > 3 {
		return ""
	}
	return name
}
