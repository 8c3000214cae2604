package index

import (
	"math"
	"strings"
	"sync"
	"unicode"

	"github.com/cairndb/cairn/oplog"
)

// A row is what filters and scores need of a memory, without a look at the disk.
type row struct {
	seq                                                   oplog.Seq
	rid                                                   string
	kind, namespace, domain, source, session, tier, owner string
	created, accessed                                     oplog.Time
	importance, halfLife, valence                         float64
	status                                                oplog.Status
	revision                                              uint32
	length                                                int // in words
	words                                                 map[string]int
	vector                                                []float32 // unit length; nil for none
}

// database is the index of one database. One goroutine puts; any may search.
type database struct {
	mu       sync.RWMutex
	rows     map[oplog.Seq]*row
	postings map[string]map[oplog.Seq]struct{}
	total    int // words in live rows
	vectors  int
}

func newDatabase() *database {
	return &database{rows: map[oplog.Seq]*row{}, postings: map[string]map[oplog.Seq]struct{}{}}
}

// put brings a row up to date. Rows that were forgotten leave nothing behind.
func (d *database) put(m *oplog.Memory, vec oplog.Vector) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.rows[m.Seq]
	if old != nil && (m.Status == oplog.Tombstoned || old.revision != m.Revision) {
		d.remove(old)
		old = nil
	}
	if m.Status == oplog.Tombstoned {
		return
	}
	if old != nil {
		old.accessed, old.halfLife, old.importance, old.status = m.Accessed, m.HalfLife, m.Importance, m.Status
		return
	}
	r := &row{
		seq: m.Seq, rid: m.RID, kind: m.Type, namespace: m.Namespace, domain: m.Domain, source: m.Source,
		session: m.Session, tier: m.Tier, owner: m.Owner, created: m.Created, accessed: m.Accessed,
		importance: m.Importance, halfLife: m.HalfLife, valence: m.Valence, status: m.Status, revision: m.Revision,
		words: map[string]int{}, vector: unit(vec.Floats()),
	}
	for _, w := range words(m.Text) {
		r.words[w]++
		r.length++
	}
	for w := range r.words {
		p := d.postings[w]
		if p == nil {
			p = map[oplog.Seq]struct{}{}
			d.postings[w] = p
		}
		p[r.seq] = struct{}{}
	}
	d.rows[r.seq] = r
	d.total += r.length
	if r.vector != nil {
		d.vectors++
	}
}

func (d *database) remove(r *row) {
	for w := range r.words {
		delete(d.postings[w], r.seq)
		if len(d.postings[w]) == 0 {
			delete(d.postings, w)
		}
	}
	d.total -= r.length
	if r.vector != nil {
		d.vectors--
	}
	delete(d.rows, r.seq)
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// unit scales a vector to length 1; a vector without length is none.
func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
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
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
