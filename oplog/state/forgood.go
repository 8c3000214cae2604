package state

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/fold"
)

// eraseForGood erases the named memories, the memories that merges and splits made of them, and those that they were
// made of. Their texts are rejected from then on. Other sources of an erased merged memory become active again.
func (a *entryTxn) eraseForGood(op *oplog.Purge) oplog.Result {
	rejectf(len(op.RIDs) > purgeStep, oplog.Invalid, "%d memories to erase: at most %d at once", len(op.RIDs), purgeStep)
	rejectf(len(op.Salt) < oplog.MinSalt, oplog.Invalid, "a salt has %d bytes at least", oplog.MinSalt)
	if d := a.database(); d.Salt == nil {
		d.Salt = slices.Clone(op.Salt)
		a.setDatabase(d)
	}
	if len(op.Past) > 0 {
		return a.erasePast(op)
	}
	named := a.Derived(a.db, op.RIDs)
	var gone []*oplog.Memory
	for i := range named.Gone {
		m := &named.Gone[i]
		if _, before := read[oplog.ErasedMemory](a.txn, tErased, a.db, []byte(m.RID)); before {
			continue
		}
		a.rejectTextsOf(m)
		a.keepProof(m, op.At)
		gone = append(gone, m)
	}
	for i := range named.Back {
		a.unmerge(&named.Back[i], op.At)
	}
	for i, m := range gone { // one that had the key of a source in Back may have been expired
		gone[i], _ = a.memoryAt(m.Seq)
	}
	changed := len(gone) > 0
	for _, id := range op.Claims { // first: a name that only they have is no entity then
		if c, ok := read[oplog.StoredClaim](a.txn, tClaim, a.db, []byte(id)); ok {
			a.dropClaim(&c)
			changed = true
		}
	}
	r := a.eraseAll(gone, op.At)
	for i := range named.Back {
		r.Rows = append(r.Rows, named.Back[i].RID)
	}
	if len(op.Name) > 0 {
		changed = a.eraseAliases(op) || changed
		a.eraseThoughts(nil)
		a.eraseLostConflicts(op.At)
	}
	if r.Changed = r.Changed || changed; r.Changed {
		a.notePurge()
	}
	return r
}

// eraseLostConflicts removes what conflicts say whose sides are relations or claims that are gone: the names of these.
func (a *entryTxn) eraseLostConflicts(at oplog.Time) {
	for _, kind := range []string{"edge:", "claim:"} {
		for length := uint32(len(kind)); ; { // sides of one length are together
			from := append(binary.BigEndian.AppendUint32(nil, length), kind...)
			k, _ := first(a.scanFrom(tConflictSide, a.db, from))
			if k == nil {
				break
			}
			if !bytes.HasPrefix(k, from) {
				length = max(length+1, binary.BigEndian.Uint32(k))
				continue
			}
			for k := range a.scan(tConflictSide, a.db, from) {
				if side, _ := cutKey(k); !a.sideExists(string(side)) {
					a.eraseConflicts(string(side), at)
				}
			}
			length++
		}
	}
}

// erasePast erases the content of earlier revisions of a memory, and rejects their texts from then on. The memory
// stays.
func (a *entryTxn) erasePast(op *oplog.Purge) oplog.Result {
	rejectf(len(op.RIDs) != 1 || len(op.Past) > purgeStep, oplog.Invalid, "the revisions of one memory, at most %d at once", purgeStep)
	m, ok := memoryByRID(a.txn, a.db, op.RIDs[0])
	rejectIf(!ok, oplog.ErrNoMemory)
	salt := a.database().Salt
	now, madeFrom := textHash(salt, m.Text), a.lineageOf(m)
	r := oplog.Result{ID: m.RID}
	for _, number := range op.Past {
		was, ok := read[oplog.Revision](a.txn, tRevision, a.db, revisionKey(m.Seq, number))
		if !ok || was.Erased != 0 {
			continue
		}
		if k := textHash(salt, was.Text); k != nil && !bytes.Equal(k, now) {
			a.put(tRefused, a.db, k, be64(uint64(a.index)))
		}
		was.Text, was.Metadata, was.Attributes, was.Reason, was.Erased = "", madeFrom, nil, "", op.At
		write(a.txn, tRevision, a.db, revisionKey(m.Seq, number), &was)
		r.Changed = true
	}
	if r.Changed {
		a.notePurge()
	}
	return r
}

// Derived lists the memories that are erased together, and those that become active again.
type Derived struct {
	Gone []oplog.Memory // the memories, their sources and their products, transitively
	Back []oplog.Memory // the other sources of memories in Gone
}

// Derived returns the memories that erasing rids for good affects.
func (t *txn) Derived(db oplog.DB, rids []string) (d Derived) {
	seen := map[string]bool{}
	take := func(into *[]oplog.Memory, rids []string) {
		for _, rid := range rids {
			if m, ok := memoryByRID(t, db, rid); ok && !seen[rid] {
				seen[rid], *into = true, append(*into, *m)
			}
		}
	}
	follow := func(from []oplog.Memory, lead func(*oplog.Memory) []string) {
		for len(from) > 0 {
			had := len(d.Gone)
			take(&d.Gone, lead(&from[0]))
			from = append(from[1:], d.Gone[had:]...)
		}
	}
	take(&d.Gone, rids)
	named := slices.Clone(d.Gone)
	follow(named, func(m *oplog.Memory) []string { return t.sourcesOf(db, m, wentInto) }) // forgotten sources still have their text
	follow(named, func(m *oplog.Memory) []string { return slices.Concat(wentInto(m), m.Undone) })
	for i := range d.Gone {
		take(&d.Back, t.MadeFrom(db, &d.Gone[i]))
	}
	return d
}

// wentInto returns the memories that a merge or a split made of m, even if m was forgotten since.
func wentInto(m *oplog.Memory) []string {
	if m.Into != "" {
		return []string{m.Into}
	}
	return m.Split
}

// madeOf is wentInto, but returns nothing if m was forgotten since.
func madeOf(m *oplog.Memory) []string {
	if m.Status != oplog.Consolidated {
		return nil
	}
	return wentInto(m)
}

// MadeFrom returns the memories that product was merged or split from and that still are its sources.
func (t *txn) MadeFrom(db oplog.DB, product *oplog.Memory) []string {
	return t.sourcesOf(db, product, madeOf)
}

// A lineage is what the metadata of a product says of its sources.
type lineage struct {
	From  []string `json:"consolidated_from,omitempty"`
	Split string   `json:"split_from,omitempty"`
}

// lineageOf returns metadata that says of what a memory was made, and nothing else; nil if it was made of nothing.
func (a *entryTxn) lineageOf(m *oplog.Memory) []byte {
	from := a.sourcesOf(a.db, m, wentInto)
	if len(from) == 0 {
		return nil
	}
	said := lineage{From: from}
	if m.Merged == 0 {
		said = lineage{Split: from[0]}
	}
	metadata, _ := json.Marshal(said) // ids always encode
	return metadata
}

// sourcesOf returns the sources of product. It reads their ids from the oldest metadata, because a client may have
// changed the metadata since, and checks them against the sources' own rows. Earlier versions left no metadata in a
// revision that was erased for good.
func (t *txn) sourcesOf(db oplog.DB, product *oplog.Memory, products func(*oplog.Memory) []string) []string {
	metadata := product.Metadata
	for _, v := range t.scan(tRevision, db, seqKey(product.Seq)) {
		if r := decode[oplog.Revision](v); r.Erased == 0 || r.Metadata != nil {
			metadata = r.Metadata
			break
		}
	}
	if product.Merged == 0 && !bytes.Contains(metadata, []byte(`"split_from"`)) {
		return nil
	}
	var said lineage
	_ = json.Unmarshal(metadata, &said)
	return slices.DeleteFunc(append(said.From, said.Split), func(rid string) bool {
		m, ok := memoryByRID(t, db, rid)
		return !ok || !slices.Contains(products(m), product.RID)
	})
}

// keepProof stores the proof that a memory was erased.
func (a *entryTxn) keepProof(m *oplog.Memory, at oplog.Time) {
	key := seqKey(m.Seq)
	e := oplog.ErasedMemory{RID: m.RID, Index: a.index, At: at, Claims: uint32(len(m.Claims)),
		Entities: uint32(len(m.Entities)), Merged: m.Merged > 0,
		Vector: a.exists(tVector, a.db, key) || a.exists(tVectorOdd, a.db, key)}
	for range a.scan(tRevision, a.db, key) {
		e.Revisions++
	}
	write(a.txn, tErased, a.db, []byte(m.RID), &e)
}

// rejectTextsOf adds a memory's text and earlier texts to the rejected texts.
func (a *entryTxn) rejectTextsOf(m *oplog.Memory) {
	salt, at := a.database().Salt, be64(uint64(a.index))
	texts := []string{m.Text}
	for _, v := range a.scan(tRevision, a.db, seqKey(m.Seq)) {
		texts = append(texts, decode[oplog.Revision](v).Text)
	}
	for _, text := range texts {
		if k := textHash(salt, text); k != nil {
			a.put(tRefused, a.db, k, at)
		}
	}
}

// isErasedText reports whether a text was erased for good.
func (a *entryTxn) isErasedText(text string) bool {
	salt := a.database().Salt
	if salt == nil {
		return false
	}
	k := textHash(salt, text)
	return k != nil && a.exists(tRefused, a.db, k)
}

// rejectErasedText rejects a text that was erased for good.
func (a *entryTxn) rejectErasedText(text string) {
	rejectIf(a.isErasedText(text), oplog.ErrErasedText)
}

// textHash returns the salted hash of a text, ignoring case and white space; nil for a text without words.
func textHash(salt []byte, text string) []byte {
	words := strings.FieldsFunc(fold.Lower(text), func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) })
	if len(words) == 0 {
		return nil
	}
	return oplog.NameHash(salt, strings.Join(words, " "))
}

// eraseAliases removes the aliases whose alias or target is the name.
func (a *entryTxn) eraseAliases(op *oplog.Purge) (changed bool) {
	is := func(name string) bool { return bytes.Equal(oplog.NameHash(op.Salt, name), op.Name) }
	for k, v := range a.scan(tAlias, a.db, nil) {
		if _, alias := cutKey(k); is(string(alias)) || is(decode[oplog.StoredAlias](v).Canonical) {
			a.del(tAlias, a.db, k)
			changed = true
		}
	}
	return changed
}

// ErasedText reports whether a text was erased for good.
func (v *View) ErasedText(db oplog.DB, text string) bool {
	return (&entryTxn{txn: v.txn, db: db}).isErasedText(text)
}

// Erased returns the proof that a memory was erased for good.
func (v *View) Erased(db oplog.DB, rid string) (oplog.ErasedMemory, bool) {
	return read[oplog.ErasedMemory](v.txn, tErased, db, []byte(rid))
}
