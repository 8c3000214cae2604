package state

import (
	"slices"
	"sync"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/spread"
	"github.com/cairndb/cairn/oplog/store"
)

// Before Apply goes through a batch in order, all processors do the work that needs no order: they decode records and
// read the rows that the entries will look up, as they are before the batch. This only saves time. Apply does in turn
// whatever is not prepared, and an unreadable record fails there.

// entriesPerWorker is the least number of entries for a processor. Waking one costs as much as about two entries.
const entriesPerWorker = 16

// A preparedRecord is a decoded record. Its place is that of the record in its batch.
type preparedRecord struct {
	hlc     oplog.HLC
	bodies  [][]byte
	entries []*oplog.Entry // nil: Apply decodes the entry in turn
	err     error
}

// A decodeTask decodes one entry.
type decodeTask struct {
	body []byte
	to   **oplog.Entry
}

// prepare decodes the records after an index and prefetches rows.
func (t *txn) prepare(batch []oplog.Record, behind oplog.Index, skips func(oplog.Record) bool) []preparedRecord {
	records := make([]preparedRecord, len(batch))
	var tasks []decodeTask
	for i, r := range batch {
		if r.Index <= behind || len(r.Data) == 0 || skips(r) {
			continue
		}
		p := &records[i]
		p.hlc, p.bodies, p.err = oplog.DecodeRecord(r.Data)
		p.entries = make([]*oplog.Entry, len(p.bodies))
		for j, body := range p.bodies {
			tasks = append(tasks, decodeTask{body, &p.entries[j]})
		}
	}
	if len(tasks) < 2*entriesPerWorker { // one worker would save nothing
		return records
	}
	t.prefetched = map[string][]byte{}
	var mu sync.Mutex
	spread.Over(len(tasks), entriesPerWorker, func(from, to int) {
		var rows []string
		for _, k := range tasks[from:to] {
			if k.decode(); *k.to != nil {
				rows = appendPrefetchKeys(rows, *k.to)
			}
		}
		slices.Sort(rows)
		rows = slices.Compact(rows)
		values := readAhead(t.b, rows)
		mu.Lock()
		defer mu.Unlock()
		for i, v := range values {
			t.prefetched[rows[i]] = v
		}
	})
	return records
}

// decode decodes the entry. If it fails, the entry stays nil and Apply reports the error in turn.
func (k decodeTask) decode() {
	if e, err := oplog.DecodeEntry(k.body); err == nil {
		*k.to = &e
	}
}

// appendPrefetchKeys appends the keys of the rows that an entry will look up: of ids and idempotency keys, which
// mostly do not exist, and of names.
func appendPrefetchKeys(rows []string, e *oplog.Entry) []string {
	add := func(table tableID, key string) {
		if key != "" {
			rows = append(rows, string(appendRow(nil, table, e.DB, []byte(key))))
		}
	}
	add(tKey, e.Key)
	for _, op := range e.Ops {
		if m, ok := op.(*oplog.Remember); ok {
			add(tRID, m.RID)
			add(tKey, m.Key)
			for i := range m.Entities {
				add(tEntity, m.Entities[i].Name)
			}
		}
	}
	return rows
}

// isPrefetched reports whether rows of a table are prefetched.
func isPrefetched(t tableID) bool { return t == tKey || t == tRID || t == tEntity }

// readAhead returns the values of rows, nil for a missing one. It ends at the first row that cannot be read; Apply
// reports that error in turn.
func readAhead(b *store.Batch, rows []string) [][]byte {
	before := b.Base()
	defer before.Close()
	values := make([][]byte, 0, len(rows))
	for _, row := range rows {
		look := before.PeekNew
		if table, _, _, _ := rowOf([]byte(row)); table == tEntity {
			look = before.Peek
		}
		v, ok, err := look([]byte(row))
		if err != nil {
			break
		}
		values = append(values, clone(v, ok))
	}
	return values
}
