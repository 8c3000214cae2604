package state

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// keyRecord is the row of an idempotency key: the results of the entry that used it first, or why it was rejected.
type keyRecord struct {
	Digest  []byte         `msgpack:"g,omitempty"`
	Expires oplog.Time     `msgpack:"x"`
	Kept    oplog.Index    `msgpack:"i"` // the record that used it first
	Results []oplog.Result `msgpack:"r"`
	Refused *oplog.Error   `msgpack:"e,omitempty"` // of a node's key; a client may repeat its own when the cause is gone
}

// lookupKey returns the results of the entry that used a key first. It rejects a key that another request has used.
func (a *entryTxn) lookupKey(key string, digest []byte) (first []oplog.Result, known bool) {
	if key == "" {
		return nil, false
	}
	row := a.getNew(tKey, a.db, []byte(key))
	if row == nil {
		a.unused = append(a.unused, key)
		return nil, false
	}
	k := decode[keyRecord](row)
	if a.keyExpired(k.Expires, k.Kept) {
		return nil, false
	}
	rejectIf(!bytes.Equal(k.Digest, digest), oplog.ErrKeyReused)
	if k.Refused != nil {
		reject(a.asAnswered(k.Refused))
	}
	return k.Results, true
}

// storeRejection stores a rejection under a node's key. A node sends an entry again if it got no answer. The stored
// rejection gives every attempt the result of the first, so the node knows the outcome of its write. It names the
// memory that the entry met, without its key and the hash of its text: an erasure would not find them here.
func (a *entryTxn) storeRejection(e *oplog.Entry, why *oplog.Error) {
	if strings.HasPrefix(e.Key, oplog.ForwardKey) && !a.exists(tKey, a.db, []byte(e.Key)) {
		kept := *why
		if kept.Found != nil {
			kept.Found = &oplog.Found{RID: why.Found.RID, Revision: why.Found.Revision}
		}
		a.putKey(e.Key, keyRecord{Digest: e.Digest, Refused: &kept}, e.KeyTTL)
	}
}

// asAnswered returns a stored rejection with the key and the hash of the memory that it names, unless the memory has
// changed since.
func (a *entryTxn) asAnswered(kept *oplog.Error) *oplog.Error {
	if f := kept.Found; f != nil {
		if m, ok := a.liveMemory(f.RID); ok && m.Revision == f.Revision {
			f.Path, f.SHA256 = m.Path, hashOf(m.Text)
		}
	}
	return kept
}

// keyRecords is the least number of records for which a key is kept, so that a jump of the log's time cannot expire
// recent keys.
const keyRecords = 100_000

// keyExpired reports whether a key's window has passed, both in log time and in records.
func (a *entryTxn) keyExpired(expires oplog.Time, kept oplog.Index) bool {
	return expires <= a.hlc.Time() && kept+keyRecords <= a.index
}

// storeKey stores the results of an entry under its key. ttl 0 means DefaultKeyTTL.
func (a *entryTxn) storeKey(key string, digest []byte, ttl oplog.Time, results []oplog.Result) {
	if key != "" {
		a.putKey(key, keyRecord{Digest: digest, Results: results}, ttl)
	}
}

func (a *entryTxn) putKey(key string, k keyRecord, ttl oplog.Time) {
	var was []byte
	if slices.Contains(a.unused, key) { // all of them: an entry and a memory in it may have the same key
		a.unused = slices.DeleteFunc(a.unused, func(k string) bool { return k == key })
	} else if was = a.get(tKey, a.db, []byte(key)); was != nil {
		a.del(tKeyExpiry, a.db, expiryKey(decode[keyRecord](was).Expires, key))
	}
	if ttl <= 0 {
		ttl = oplog.DefaultKeyTTL
	}
	k.Expires, k.Kept = a.hlc.Time()+ttl, a.index
	a.putOver(tKey, a.db, []byte(key), was, a.encode(&k))
	a.putNew(tKeyExpiry, a.db, expiryKey(k.Expires, key), be64(uint64(k.Kept)))
	if from := a.firstExpiry(a.db); from > 0 {
		a.expiry[a.db] = min(from, uint64(k.Expires))
	}
	a.addedKeys++
}

// StoredUnder returns the memory that was first stored under a memory's idempotency key.
func (v *View) StoredUnder(db oplog.DB, key string) (rid string, ok bool) {
	k, ok := read[keyRecord](v.txn, tKey, db, []byte(key))
	if !ok || len(k.Results) == 0 {
		return "", false
	}
	return k.Results[0].ID, true
}

// noteKeys adds clients' idempotency keys to a memory's list and drops expired ones. A purge removes the listed keys.
func (a *entryTxn) noteKeys(m *oplog.Memory, keys ...string) {
	m.Keys = slices.DeleteFunc(m.Keys, func(k string) bool { return !a.exists(tKey, a.db, []byte(k)) })
	for _, k := range keys {
		if k != "" && !strings.HasPrefix(k, oplog.ForwardKey) && !slices.Contains(m.Keys, k) {
			m.Keys = append(m.Keys, k)
		}
	}
}

func expiryKey(t oplog.Time, key string) []byte { return append(be64(uint64(t)), key...) }

// firstExpiry returns a time before which no key of a database expires; 0 if it is unknown.
func (t *txn) firstExpiry(db oplog.DB) uint64 {
	if from, ok := t.expiry[db]; ok {
		return from
	}
	return t.stateExpiry[db]
}

// expireKeys drops expired keys, the oldest first, a few with each entry. It drops more than the entry added, so the
// table cannot outgrow its window. The cached first expiry only saves reads: without it, each entry would scan the
// tombstones of the dropped rows.
func (a *entryTxn) expireKeys() {
	from := a.firstExpiry(a.db)
	now := uint64(a.hlc.Time())
	if from > now {
		return
	}
	few := 4 + 2*a.addedKeys
	next := uint64(math.MaxUint64) // if no key is left
	for k, kept := range a.scanFrom(tKeyExpiry, a.db, be64(from)) {
		if few--; few < 0 || beUint64(k) > now || oplog.Index(beUint64(kept))+keyRecords > a.index {
			next = beUint64(k)
			break
		}
		a.del(tKeyExpiry, a.db, k)
		a.del(tKey, a.db, k[8:])
	}
	a.expiry[a.db] = next
}

// KeyResults returns the results of the entry under an idempotency key; nil when the key is not known.
func (v *View) KeyResults(db oplog.DB, key string) []oplog.Result {
	return load[keyRecord](v.txn, tKey, db, []byte(key)).Results
}
