package index

import (
	"cmp"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
)

// A column holds what filters and scores need of a row, without a look at the disk.
type column struct {
	rank.Row
	seq                                                   oplog.Seq
	kind, namespace, domain, source, session, tier, owner string
	status                                                oplog.Status
	revision                                              uint32
	place                                                 int       // in its session's rows
	dead                                                  bool      // replaced by a later row, or forgotten
	vector                                                []float32 // unit length; nil for none
}

// A session is the rows of one conversation in the order they were stored.
type session struct {
	rows   []uint32
	tokens uint64
}

// sums are a namespace's counters.
type sums struct {
	group            uint32
	sessions, tokens uint64 // of rows that belong to a session
}

// database is the index of one database. One goroutine puts; any may search. The lock is held for the columns
// alone: never over I/O, and by put only for what it changes.
type database struct {
	dir   string
	words *text.Index

	mu         sync.RWMutex
	cols       []column // by row number
	bySeq      map[oplog.Seq]uint32
	sessions   []session // by session number; 0 is none
	sessionIDs map[[2]string]uint32
	namespaces map[string]*sums
	vectors    int
}

func newDatabase(dir string, words *text.Index) *database {
	return &database{dir: dir, words: words, bySeq: map[oplog.Seq]uint32{}, sessions: make([]session, 1),
		sessionIDs: map[[2]string]uint32{}, namespaces: map[string]*sums{}}
}

// drop closes the index and removes its files.
func (d *database) drop() {
	d.words.Close()
	os.RemoveAll(filepath.Dir(d.dir)) // what stays is removed at the next Open
}

// A change is a memory as it is now.
type change struct {
	m   *oplog.Memory
	vec oplog.Vector
}

// sortChanges makes row numbers follow the order in which memories were stored.
func sortChanges(c []change) {
	slices.SortFunc(c, func(a, b change) int { return cmp.Compare(a.m.Seq, b.m.Seq) })
}

// put brings rows up to date: all of them are found, or gone, when it returns.
func (d *database) put(ctx context.Context, changes []change) error {
	if err := d.words.Ready(ctx); err != nil {
		return err
	}
	lengths := make([]uint32, len(changes)) // analysed outside the lock
	for i, c := range changes {
		if c.m.Status != oplog.Tombstoned {
			lengths[i] = tokens(c.m.Words())
		}
	}
	d.mu.Lock()
	var add []text.Row
	var del []uint32
	for i, c := range changes {
		old, known := d.bySeq[c.m.Seq]
		switch {
		case c.m.Status == oplog.Tombstoned:
			if known {
				del = append(del, d.kill(old))
				delete(d.bySeq, c.m.Seq)
			}
			continue
		case known && d.cols[old].revision == c.m.Revision:
			d.cols[old].touch(c.m)
			continue
		case known:
			del = append(del, d.kill(old))
		}
		add = append(add, d.add(c, lengths[i], old, known))
	}
	d.mu.Unlock()
	if len(add)+len(del) == 0 {
		return nil
	}
	return d.words.Apply(0, add, del)
}

// tokens is a text's length as the text index counts it.
func tokens(s string) (n uint32) {
	for _, t := range text.Analyze(s) {
		if !t.Extra {
			n++
		}
	}
	return n
}

// touch takes over what changes without a change of the text.
func (c *column) touch(m *oplog.Memory) {
	c.Accessed, c.HalfLife, c.Importance, c.status, c.tier = int64(m.Accessed), m.HalfLife, m.Importance, m.Status, m.Tier
}

// add makes a row. A corrected text takes its predecessor's place in the session.
func (d *database) add(c change, length uint32, old uint32, corrected bool) text.Row {
	m := c.m
	row := uint32(len(d.cols))
	ns := d.namespaces[m.Namespace]
	if ns == nil {
		ns = &sums{group: uint32(len(d.namespaces)) + 1}
		d.namespaces[m.Namespace] = ns
	}
	col := column{seq: m.Seq, kind: m.Type, namespace: m.Namespace, domain: m.Domain, source: m.Source, session: m.Session, tier: m.Tier,
		owner: m.Owner, status: m.Status, revision: m.Revision, vector: unit(c.vec.Floats()),
		Row: rank.Row{RID: m.RID, Created: int64(m.Created), Accessed: int64(m.Accessed), Importance: m.Importance, HalfLife: m.HalfLife,
			Valence: m.Valence, Length: length, Speaker: speaker(m), Asks: strings.HasSuffix(strings.TrimSpace(m.Text), "?")}}
	if m.Session != "" {
		col.Session, col.place = d.join(m, ns, row, length, old, corrected)
	}
	if col.vector != nil {
		d.vectors++
	}
	d.cols = append(d.cols, col)
	d.bySeq[m.Seq] = row
	return text.Row{Row: row, Group: ns.group, Text: m.Words()}
}

func (d *database) join(m *oplog.Memory, ns *sums, row, length, old uint32, corrected bool) (id uint32, place int) {
	key := [2]string{m.Namespace, m.Session}
	id, ok := d.sessionIDs[key]
	if !ok {
		id = uint32(len(d.sessions))
		d.sessionIDs[key] = id
		d.sessions = append(d.sessions, session{})
		ns.sessions++
	}
	s := &d.sessions[id]
	s.tokens += uint64(length)
	ns.tokens += uint64(length)
	if corrected {
		place = d.cols[old].place
		s.rows[place] = row
		return id, place
	}
	s.rows = append(s.rows, row)
	return id, len(s.rows) - 1
}

// kill takes a row out of everything that is counted.
func (d *database) kill(row uint32) uint32 {
	c := &d.cols[row]
	c.dead = true
	if c.vector != nil {
		d.vectors--
		c.vector = nil
	}
	if c.Session != 0 {
		d.sessions[c.Session].tokens -= uint64(c.Length)
		d.namespaces[c.namespace].tokens -= uint64(c.Length)
	}
	return row
}

// speaker is who said a memory: the one named beside it, or, as transcripts have it, before its first colon.
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

// unit scales a vector to length 1; a vector without length is none.
func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(float64(x) * float64(x))
	}
	if sum == 0 {
		return nil
	}
	n := math.Sqrt(sum)
	for i := range v {
		v[i] = float32(float64(v[i]) / n)
	}
	return v
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(float64(a[i]) * float64(b[i]))
	}
	return sum
}
