package state

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/fold"
)

// maxLinked bounds the names of one memory.
const maxLinked = 64

func applyLinked(a *entryTxn, op *oplog.Linked) (r oplog.Result) {
	for _, l := range op.Links {
		m, ok := a.liveMemory(l.RID)
		if !ok || m.Status != oplog.Active || m.Unsearchable || slices.Contains(m.Entities, l.Name) || len(m.Entities) >= maxLinked ||
			!a.exists(tEntity, a.db, []byte(l.Name)) {
			continue
		}
		m.Entities = append(m.Entities, l.Name)
		a.mention(oplog.Mention{Name: l.Name}, m.Seq, op.At)
		a.putMemory(m)
		r.Num, r.Changed, r.Rows = r.Num+1, true, append(r.Rows, m.RID)
	}
	return r
}

func applyAlias(a *entryTxn, op *oplog.Alias) oplog.Result {
	rejectf(op.Alias == "" || op.Canonical == "", oplog.Invalid, "an alias needs both names")
	key := joinKey(op.Namespace, op.Alias)
	old, had := read[oplog.StoredAlias](a.txn, tAlias, a.db, key)
	if had && old.Canonical == op.Canonical {
		return oplog.Result{ID: op.Alias}
	}
	write(a.txn, tAlias, a.db, key, &oplog.StoredAlias{Canonical: op.Canonical, Source: op.Source, At: op.At})
	return oplog.Result{ID: op.Alias, Changed: true}
}

// canonical resolves a name through the namespace's aliases, then the default ones.
func (a *entryTxn) canonical(namespace, name string) string {
	if !cached(a.cache.hasAliases, a.db, func() bool { return a.has(tAlias, a.db, nil) }) {
		return name
	}
	for i, ns := range []string{namespace, "default"} {
		if i > 0 && ns == namespace {
			break
		}
		if al, ok := read[oplog.StoredAlias](a.txn, tAlias, a.db, joinKey(ns, name)); ok {
			return al.Canonical
		}
	}
	return name
}

// mention counts an entity and, when seq is a memory that does not name it yet, links the two.
func (a *entryTxn) mention(m oplog.Mention, seq oplog.Seq, at oplog.Time) {
	e := oplog.Entity{Name: m.Name, Type: "unknown", First: at}
	was := a.get(tEntity, a.db, []byte(m.Name))
	if was != nil {
		e = decode[oplog.Entity](was)
	} else {
		a.stats.Entities++
		a.putNew(tFolded, a.db, joinKey(fold.Lower(m.Name), m.Name), nil)
	}
	if m.Type != "" && e.Type == "unknown" {
		e.Type = m.Type
	}
	e.Last = max(e.Last, at)
	e.Mentions++
	a.putOver(tEntity, a.db, []byte(m.Name), was, a.encode(&e))
	if seq != 0 {
		a.putNew(tEntityMemory, a.db, nameKey(m.Name, seq), nil)
	}
}

// unlink removes a memory from the entities that it no longer names.
func (a *entryTxn) unlink(m *oplog.Memory, keep map[string]bool) {
	for _, name := range m.Entities {
		if keep[name] {
			continue
		}
		a.del(tEntityMemory, a.db, nameKey(name, m.Seq))
		if e, ok := read[oplog.Entity](a.txn, tEntity, a.db, []byte(name)); ok && e.Mentions > 0 {
			e.Mentions--
			write(a.txn, tEntity, a.db, []byte(name), &e)
		}
		a.dropName(name)
	}
}

// relink links a corrected memory to the entities of its new text.
func (a *entryTxn) relink(m *oplog.Memory, found []oplog.Mention, extractor uint8, at oplog.Time) {
	had, now := map[string]bool{}, map[string]bool{}
	for _, n := range m.Entities {
		had[n] = true
	}
	var names []string
	for _, e := range found {
		e.Name = a.canonical(m.Namespace, e.Name)
		if now[e.Name] {
			continue
		}
		now[e.Name] = true
		names = append(names, e.Name)
		if !had[e.Name] {
			a.mention(e, m.Seq, at)
		}
	}
	a.unlink(m, now)
	m.Entities, m.Extractor = names, extractor
}

// dropName removes an entity that no memory, relation or claim names any more.
func (a *entryTxn) dropName(name string) {
	prefix := joinKey(name, "")
	for _, table := range []tableID{tEntityMemory, tBySource, tByTarget, tClaimBy} {
		if a.has(table, a.db, prefix) {
			return
		}
	}
	if !a.exists(tEntity, a.db, []byte(name)) {
		return
	}
	a.del(tEntity, a.db, []byte(name))
	a.del(tFolded, a.db, joinKey(fold.Lower(name), name))
	a.stats.Entities--
}

// EntityMemories walks the memories that name an entity, the newest first.
func (v *View) EntityMemories(db oplog.DB, name string, f func(*oplog.Memory) bool) {
	v.memoriesOf(db, v.scanBack(tEntityMemory, db, joinKey(name, "")), f)
}

// EntitiesFolded returns at most limit entities whose name has this folded form.
func (v *View) EntitiesFolded(db oplog.DB, folded string, limit int) (names []string) {
	prefix := joinKey(folded, "")
	for k := range v.scan(tFolded, db, prefix) {
		if names = append(names, string(k[len(prefix):])); len(names) >= limit {
			break
		}
	}
	return names
}

// Named returns the entity with this name, or the only one that differs from it in case. If there is none or several,
// it returns the name unchanged.
func (v *View) Named(db oplog.DB, name string) string {
	if same := v.AllNamed(db, name, 2); len(same) == 1 {
		return same[0]
	}
	return name
}

// AllNamed returns the entity with this name, or else at most limit entities that differ from it in case.
func (v *View) AllNamed(db oplog.DB, name string, limit int) []string {
	if _, ok := v.Entity(db, name); ok {
		return []string{name}
	}
	return v.EntitiesFolded(db, fold.Lower(name), limit)
}

// Aliases walks the aliases by namespace.
func (v *View) Aliases(db oplog.DB, f func(namespace, alias string, to oplog.StoredAlias) bool) {
	for k, val := range v.scan(tAlias, db, nil) {
		namespace, alias := cutKey(k)
		if !f(string(namespace), string(alias), decode[oplog.StoredAlias](val)) {
			return
		}
	}
}

// Canonical resolves a name through the aliases of a namespace.
func (v *View) Canonical(db oplog.DB, namespace, name string) string {
	return (&entryTxn{txn: v.txn, db: db}).canonical(namespace, name)
}

// maxResolved bounds the names that ResolveName returns.
const maxResolved = 64

// ResolveName returns the entities that a name stands for in a namespace. The first is the target of the name's
// alias, even if nothing names it. The entities whose names are aliases of that target follow, because memories older
// than an alias are stored under the alias. If no entity and no alias has the name in this case, other cases of it
// count.
func (v *View) ResolveName(db oplog.DB, namespace, name string) (names []string) {
	add := func(name string) {
		for _, same := range v.AllNamed(db, name, maxResolved) {
			if len(names) < maxResolved && !slices.Contains(names, same) {
				names = append(names, same)
			}
		}
	}
	aliases, inOtherCase, folded, looked := map[string][]string{}, "", fold.Lower(name), 0
	for _, ns := range slices.Compact([]string{"default", namespace}) {
		for k, to := range v.scan(tAlias, db, joinKey(ns, "")) {
			if looked++; looked > MaxScan {
				break
			}
			_, alias := cutKey(k)
			of := decode[oplog.StoredAlias](to).Canonical
			if aliases[of] = append(aliases[of], string(alias)); fold.Lower(string(alias)) == folded {
				inOtherCase = string(alias)
			}
		}
	}
	of := v.Canonical(db, namespace, name)
	for _, same := range append(v.AllNamed(db, name, maxResolved), cmp.Or(inOtherCase, name)) {
		if of == name {
			of = v.Canonical(db, namespace, same)
		}
	}
	if add(of); len(names) == 0 {
		names = []string{of}
	}
	add(name)
	for i := 0; i < len(names); i++ { // an alias may have its own aliases
		for _, alias := range aliases[names[i]] {
			add(alias)
		}
	}
	return names
}

// MemoriesOfAll walks the memories that name one of several entities, each memory once, entity by entity, the newest
// first.
func (v *View) MemoriesOfAll(db oplog.DB, names []string, f func(*oplog.Memory) bool) {
	seen, more := map[oplog.Seq]bool{}, true
	for _, name := range names {
		v.EntityMemories(db, name, func(m *oplog.Memory) bool {
			if !seen[m.Seq] {
				seen[m.Seq] = true
				more = f(m)
			}
			return more
		})
		if !more {
			return
		}
	}
}

// maxNamesakes bounds the memories that NamedWithin reads.
const maxNamesakes = 100

// NamedWithin reports whether one of the newest maxNamesakes memories that name an entity is in some namespaces.
func (v *View) NamedWithin(db oplog.DB, in oplog.Spaces, name string) bool {
	is, left := !in.Bind(), maxNamesakes
	if !is {
		v.EntityMemories(db, name, func(m *oplog.Memory) bool {
			is = in.Has(m.Namespace)
			left--
			return !is && left > 0
		})
	}
	return is
}

// Entity finds an entity by its name.
func (v *View) Entity(db oplog.DB, name string) (oplog.Entity, bool) {
	return read[oplog.Entity](v.txn, tEntity, db, []byte(name))
}

// Entities walks the entities after a name, by name; blank begins with the first.
func (v *View) Entities(db oplog.DB, behind string, f func(oplog.Entity) bool) {
	each(v.scanBehind(tEntity, db, []byte(behind)), f)
}
