package oplog

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
)

// keyRecord is what an idempotency key stands for.
type keyRecord struct {
	Digest  []byte   `msgpack:"g,omitempty"`
	Expires Time     `msgpack:"x"`
	Results []Result `msgpack:"r"`
}

// replay answers an entry whose key is known: with the first results, or with a refusal when the request was another.
func (a *applying) replay(e *Entry) (bool, []Result, *Error) {
	if e.Key == "" {
		return false, nil, nil
	}
	k, ok := read[keyRecord](a.txn, tKey, a.db, []byte(e.Key))
	if !ok || k.Expires <= a.hlc.Time() {
		return false, nil, nil
	}
	if !bytes.Equal(k.Digest, e.Digest) {
		return false, nil, ErrKeyReused
	}
	return true, k.Results, nil
}

func (a *applying) keep(e *Entry, results []Result) {
	if e.Key == "" {
		return
	}
	if old, ok := read[keyRecord](a.txn, tKey, a.db, []byte(e.Key)); ok {
		a.del(tKeyExpiry, a.db, expiryKey(old.Expires, e.Key))
	}
	ttl := e.KeyTTL
	if ttl <= 0 {
		ttl = DefaultKeyTTL
	}
	k := keyRecord{Digest: e.Digest, Expires: a.hlc.Time() + ttl, Results: results}
	write(a.txn, tKey, a.db, []byte(e.Key), &k)
	a.put(tKeyExpiry, a.db, expiryKey(k.Expires, e.Key), nil)
}

func expiryKey(t Time, key string) []byte { return append(be64(uint64(t)), key...) }

// expireKeys drops keys whose time is over by the log's clock, a few an entry: more than an entry adds,
// so the table cannot outgrow its window.
func (a *applying) expireKeys() {
	const few = 4
	b := a.bucket(tKeyExpiry, a.db)
	if k, _ := b.Bucket.Cursor().First(); k == nil || Time(beUint64(k)) > a.hlc.Time() { // the time is never sealed
		return
	}
	var gone [][]byte
	a.scan(tKeyExpiry, a.db, nil, func(k, _ []byte) bool {
		if len(gone) == few || Time(binary.BigEndian.Uint64(k)) > a.hlc.Time() {
			return false
		}
		gone = append(gone, bytes.Clone(k))
		return true
	})
	for _, k := range gone {
		a.del(tKeyExpiry, a.db, k)
		a.del(tKey, a.db, k[8:])
	}
}

func sortedKeys[V any](m map[DB]V) []DB { return slices.Sorted(maps.Keys(m)) }
