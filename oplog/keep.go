package oplog

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
)

// keyRecord is what an idempotency key stands for.
type keyRecord struct {
	Digest  []byte   `msgpack:"g,omitempty"`
	Expires Time     `msgpack:"x"`
	Kept    Index    `msgpack:"i"` // the record that used it first
	Results []Result `msgpack:"r"`
}

// replay answers an entry whose key is known: with the first results, or with a refusal when the request was another.
func (a *applying) replay(e *Entry) (bool, []Result, *Error) {
	first, known, err := a.known(e.Key, e.Digest)
	return known, first, err
}

// known is what a key stood for the first time, or a refusal when it was another request's.
func (a *applying) known(key string, digest []byte) (first []Result, known bool, err *Error) {
	if key == "" {
		return nil, false, nil
	}
	k, ok := read[keyRecord](a.txn, tKey, a.db, []byte(key))
	if !ok || a.over(k.Expires, k.Kept) {
		return nil, false, nil
	}
	if !bytes.Equal(k.Digest, digest) {
		return nil, false, ErrKeyReused
	}
	return k.Results, true, nil
}

// keyRecords is how many records a key outlives at least: a jump of the log's time alone makes nothing recent expire.
const keyRecords = 100_000

// over says whether a key's window has passed, both in log time and in records.
func (a *applying) over(expires Time, kept Index) bool {
	return expires <= a.hlc.Time() && kept+keyRecords <= a.index
}

func (a *applying) keep(e *Entry, results []Result) { a.keepKey(e.Key, e.Digest, e.KeyTTL, results) }

// keepKey remembers a key for a time; 0 means DefaultKeyTTL.
func (a *applying) keepKey(key string, digest []byte, ttl Time, results []Result) {
	if key == "" {
		return
	}
	if old, ok := read[keyRecord](a.txn, tKey, a.db, []byte(key)); ok {
		a.del(tKeyExpiry, a.db, expiryKey(old.Expires, key))
	}
	if ttl <= 0 {
		ttl = DefaultKeyTTL
	}
	k := keyRecord{Digest: digest, Expires: a.hlc.Time() + ttl, Kept: a.index, Results: results}
	write(a.txn, tKey, a.db, []byte(key), &k)
	a.put(tKeyExpiry, a.db, expiryKey(k.Expires, key), be64(uint64(k.Kept)))
	if from, known := a.expiry[a.db]; known {
		a.expiry[a.db] = min(from, uint64(k.Expires))
	}
	a.keys++
}

// ForwardKey begins the keys that nodes make for entries they forward: they are no client's and say nothing.
const ForwardKey = "forward/"

// noteKeys has a memory know its clients' keys, and none that has expired.
func (a *applying) noteKeys(m *Memory, keys ...string) {
	m.Keys = slices.DeleteFunc(m.Keys, func(k string) bool { return a.get(tKey, a.db, []byte(k)) == nil })
	for _, k := range keys {
		if k != "" && !strings.HasPrefix(k, ForwardKey) && !slices.Contains(m.Keys, k) {
			m.Keys = append(m.Keys, k)
		}
	}
}

func expiryKey(t Time, key string) []byte { return append(be64(uint64(t)), key...) }

// expireKeys drops keys whose window has passed, in the order of their times, a few an entry: more than the entry added, so the
// table cannot outgrow its window. What is known of the first of them only saves looking: those that went would be passed over each time.
func (a *applying) expireKeys() {
	from, known := a.expiry[a.db]
	now := uint64(a.hlc.Time())
	if known && from > now {
		return
	}
	few := 4 + 2*a.keys
	var gone [][]byte
	next := uint64(math.MaxUint64) // when there is none
	a.scanFrom(tKeyExpiry, a.db, be64(from), func(k, kept []byte) bool {
		at := beUint64(k)
		if len(gone) == few || at > now || Index(beUint64(kept))+keyRecords > a.index {
			next = at
			return false
		}
		gone = append(gone, bytes.Clone(k))
		return true
	})
	a.expiry[a.db] = next
	for _, k := range gone {
		a.del(tKeyExpiry, a.db, k)
		a.del(tKey, a.db, k[8:])
	}
}

func sortedKeys[V any](m map[DB]V) []DB { return slices.Sorted(maps.Keys(m)) }
