package state

import (
	"slices"
	"sync"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/spread"
	"github.com/cairndb/cairn/oplog/store"
)

// What of a batch needs no order is done by all processors before its order begins: records are decoded, and the rows
// that their entries will look for are read from the store as the batch meets it. It saves time and decides nothing:
// what is not prepared is done in its turn, where a record that cannot be read also fails.

// entriesPerWorker is the number of entries for which a processor is woken, which takes about as long as two of them.
const entriesPerWorker = 16

// A preparedRecord record stands where the record does in its batch.
type preparedRecord struct {
	hlc     oplog.HLC
	bodies  [][]byte
	entries []*oplog.Entry // nil is one that is decoded in its turn
	err     error
}

// A decodeTask is to decode an entry.
type decodeTask struct {
	body []byte
	to   **oplog.Entry
}

// prepare decodes the records behind a place in the log, and reads rows ahead.
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
	if len(tasks) < 2*entriesPerWorker { // one stretch would only do in advance what costs the same in its turn
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

// decode reads an entry, if it can be read. Its turn says what is wrong with one that cannot.
func (k decodeTask) decode() {
	if e, err := oplog.DecodeEntry(k.body); err == nil {
		*k.to = &e
	}
}

// appendPrefetchKeys appends the rows that an entry will look for: of ids and idempotency keys, which are mostly not there,
// and of names.
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

// isPrefetched reports whether rows of a table are read ahead.
func isPrefetched(t tableID) bool { return t == tKey || t == tRID || t == tEntity }

// readAhead returns the values of rows, nil where there is none. It ends at one that cannot be read, which its turn
// will say.
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
