package state

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// A memory has its key until it is forgotten: a row of tPath maps the key to it. When it loses or changes the key, a
// row of tPathPast records that, for questions about the past.

func applyKeyed(a *entryTxn, op *oplog.Keyed) oplog.Result {
	checkPath(op.Path)
	m, ok := a.memoryByPath(a.db, op.Namespace, op.Path)
	ok = ok && !m.ExpiredAt(a.hlc.Time()) // what takes the key forgets an expired memory: a condition changes nothing
	var r oplog.Result
	if ok {
		r = oplog.Result{ID: m.RID, Num: uint64(m.Revision)}
	}
	expected := !ok || !op.IfAbsent
	if op.IfRevision != nil {
		expected = expected && ok && m.Revision == *op.IfRevision
	}
	if op.IfSHA256 != "" {
		expected = expected && ok && hashOf(m.Text) == op.IfSHA256
	}
	if !expected {
		rejectFound(oplog.ErrCondition, m, ok)
	}
	rejectIf(!ok && op.Must, oplog.ErrNoHolder)
	rejectIf(op.Holder != nil && *op.Holder != r.ID || op.At != nil && uint64(*op.At) != r.Num, oplog.ErrHolder)
	return r
}

// rejectFound rejects the entry with an error that names the memory found under the key.
func rejectFound(why *oplog.Error, m *oplog.Memory, ok bool) {
	e := *why
	e.Found = &oplog.Found{}
	if ok {
		*e.Found = oplog.Found{RID: m.RID, Path: m.Path, Revision: m.Revision, SHA256: hashOf(m.Text)}
	}
	reject(&e)
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func checkPath(path string) {
	if err := oplog.CheckPath(path); err != nil {
		reject(err)
	}
}

// pathSince returns the time from which a new memory has had its key: an imported one may have been renamed.
func pathSince(m *oplog.Memory, w *oplog.History) oplog.Time {
	since := m.Created
	if w != nil {
		for _, r := range w.Revisions {
			if r.Path != m.Path || r.Namespace != "" && r.Namespace != m.Namespace {
				since = r.Until
			}
		}
	}
	return since
}

// takePath stores a memory's key. It rejects the entry if the key is taken.
func (a *entryTxn) takePath(m *oplog.Memory, since oplog.Time) {
	checkPath(m.Path)
	rejectIf(m.Status != oplog.Active, errHistory)
	if taken := a.pathConflict(m.Namespace, m.Path); taken != nil {
		rejectFound(oplog.ErrPathTaken, taken, true)
	}
	a.putNew(tPath, a.db, joinKey(m.Namespace, m.Path), append(seqKey(m.Seq), be64(uint64(since))...))
}

// pathConflict finds a memory whose key prevents this one: it has the same key, or one above or below it.
func (a *entryTxn) pathConflict(namespace, path string) *oplog.Memory {
	for end := 1; path != "" && end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		if m, ok := a.unexpiredByPath(namespace, path[:end]); ok {
			return m
		}
	}
	if path == "" {
		return nil
	}
	for _, v := range a.scan(tPath, a.db, joinKey(namespace, path+"/")) {
		if m, ok := a.memoryAt(oplog.Seq(beUint64(v))); ok && !m.ExpiredAt(a.hlc.Time()) {
			return m
		}
	}
	return nil
}

// unexpiredByPath finds the memory that has a key. It expires a memory whose time is over, as the next Sweep would,
// so that the key is free.
func (a *entryTxn) unexpiredByPath(namespace, path string) (*oplog.Memory, bool) {
	m, ok := a.memoryByPath(a.db, namespace, path)
	if ok && m.ExpiredAt(a.hlc.Time()) {
		a.expire(m)
		a.alsoChanged = append(a.alsoChanged, m.RID)
		return nil, false
	}
	return m, ok
}

// freePath frees a memory's key, and keeps the path in the memory.
func (a *entryTxn) freePath(m *oplog.Memory, at oplog.Time) {
	if m.Path == "" {
		return
	}
	key := joinKey(m.Namespace, m.Path)
	if row := a.get(tPath, a.db, key); row != nil && oplog.Seq(beUint64(row)) == m.Seq {
		a.del(tPath, a.db, key)
		a.put(tPathPast, a.db, append(joinKey(m.Namespace, m.Path, ""), timeKey(at, m.Seq)...), row[8:])
	}
}

// movePath changes the key of a memory.
func (a *entryTxn) movePath(m *oplog.Memory, to string, at oplog.Time) {
	a.freePath(m, at)
	if m.Path = to; to != "" {
		a.takePath(m, at)
	}
}

// moveTo moves a memory to another namespace, with its key. Conflicts and claims belong to a namespace, so those of
// the memory end; the entry stores its claims again.
func (a *entryTxn) moveTo(m *oplog.Memory, namespace string, op *oplog.Correct) {
	rejectf(namespace == "", oplog.Invalid, "a memory needs a namespace")
	a.closeFindings(m, "what superseded it was moved", op.At)
	if m.By != "" {
		a.unmarkSuperseded(m, oplog.Restated, op.At)
	}
	if op.Text == nil {
		a.dropClaims(m)
	}
	a.freePath(m, op.At)
	a.countStatus(m, -1)
	a.del(tNamespace, a.db, nameKey(m.Namespace, m.Seq))
	m.Namespace = namespace
	a.put(tNamespace, a.db, nameKey(m.Namespace, m.Seq), nil)
	a.countStatus(m, +1)
	if setIfGiven(&m.Path, op.Path); m.Path != "" {
		a.takePath(m, op.At)
	}
}

// erasePaths removes every key that a memory has or had. It reads the revisions, so call it before they are removed.
func (a *entryTxn) erasePaths(m *oplog.Memory, at oplog.Time) {
	a.freePath(m, at)
	paths := map[[2]string]bool{{m.Namespace, m.Path}: true}
	for _, r := range list[oplog.Revision](a.txn, tRevision, a.db, seqKey(m.Seq)) {
		paths[[2]string{r.Namespace, r.Path}] = true
	}
	for path := range paths { // the order does not matter
		for k := range a.scan(tPathPast, a.db, joinKey(path[0], path[1], "")) {
			if seqOf(k) == m.Seq {
				a.del(tPathPast, a.db, k)
			}
		}
	}
	m.Path = ""
}

// memoryByPath finds the memory that has a key.
func (t *txn) memoryByPath(db oplog.DB, namespace, path string) (*oplog.Memory, bool) {
	row := t.get(tPath, db, joinKey(namespace, path))
	if row == nil {
		return nil, false
	}
	m, ok := read[oplog.Memory](t, tMemory, db, row[:8])
	return &m, ok
}

// Keyed finds the memory that has a key.
func (v *View) Keyed(db oplog.DB, namespace, path string) (*oplog.Memory, bool) {
	m, ok := v.memoryByPath(db, namespace, path)
	if ok = ok && !v.forReaders(m).Expired(); !ok {
		return nil, false
	}
	return m, true
}

// KeyedAsOf returns the memory that had a key at a time, as the memory was then.
func (v *View) KeyedAsOf(db oplog.DB, namespace, path string, at oplog.Time) (*oplog.Memory, bool) {
	prefix := joinKey(namespace, path, "")
	for k, since := range v.scanFrom(tPathPast, db, append(prefix, timeKey(at+1, 0)...)) {
		if !bytes.HasPrefix(k, prefix) {
			break
		}
		if oplog.Time(beUint64(since)) <= at {
			m, ok := v.MemoryAt(db, seqOf(k))
			if !ok {
				return nil, false
			}
			return v.AsOf(db, m, at)
		}
	}
	row := v.get(tPath, db, joinKey(namespace, path))
	if row == nil || oplog.Time(beUint64(row[8:])) > at {
		return nil, false
	}
	m, ok := v.MemoryAt(db, oplog.Seq(beUint64(row)))
	if !ok {
		return nil, false
	}
	return v.AsOf(db, m, at)
}

// Keys walks the keys of a namespace below a folder, which ends in /, in byte order, after a key or a folder. With a
// depth, keys that lie deeper are grouped by their folder at that depth: f gets each such folder once, with a nil
// memory, and the keys in it are not read.
func (v *View) Keys(db oplog.DB, namespace, folder, behind string, depth int, f func(path string, m *oplog.Memory) bool) {
	all := joinKey(namespace, folder)
	from := all
	if strings.HasPrefix(behind, folder) {
		behind = cmp.Or(folderAt(behind, len(folder), depth), behind)
	}
	switch {
	case strings.HasSuffix(behind, "/"):
		from = prefixEnd(joinKey(namespace, behind))
	case behind != "":
		from = append(joinKey(namespace, behind), 0)
	}
	if bytes.Compare(from, all) < 0 {
		from = all
	}
	expiring := v.counters(db).Expiring > 0
	for {
		jump := []byte(nil)
		for k, row := range v.scanFrom(tPath, db, from) {
			if !bytes.HasPrefix(k, all) {
				return
			}
			_, rest := cutKey(k)
			path := string(rest)
			group := folderAt(path, len(folder), depth)
			var m *oplog.Memory
			if group == "" || expiring {
				if m, _ = v.MemoryAt(db, oplog.Seq(beUint64(row))); m.Expired() {
					continue
				}
			}
			if group != "" {
				if jump = prefixEnd(joinKey(namespace, group)); !f(group, nil) {
					return
				}
				break
			}
			if !f(path, m) {
				return
			}
		}
		if jump == nil {
			return
		}
		from = jump
	}
}

// folderAt returns the folder of a path, depth segments after offset from; blank if the path is shorter, and for
// depth 0.
func folderAt(path string, from, depth int) string {
	for range depth {
		i := strings.IndexByte(path[from:], '/')
		if i < 0 {
			return ""
		}
		from += i + 1
	}
	if depth == 0 {
		return ""
	}
	return path[:from]
}
