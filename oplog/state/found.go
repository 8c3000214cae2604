package state

import "github.com/cairndb/cairn/oplog"

// lookupCache remembers answers that nearly every entry needs. txn.replace and a failed batch clear the answers whose
// rows they change.
type lookupCache struct {
	newestActive map[namespaceID][]byte // the active session that began last; new memories join it
	hasAliases   map[oplog.DB]bool      // databases that have aliases
}

func newLookupCache() lookupCache { return lookupCache{map[namespaceID][]byte{}, map[oplog.DB]bool{}} }

func (f *lookupCache) clear() {
	clear(f.newestActive)
	clear(f.hasAliases)
}

// maxCached bounds the answers of one kind.
const maxCached = 4096

// cached returns the answer for a key. On a miss it calls look and stores the answer.
func cached[K comparable, V any](known map[K]V, key K, look func() V) V {
	v, ok := known[key]
	if !ok {
		if v = look(); len(known) == maxCached {
			clear(known)
		}
		known[key] = v
	}
	return v
}
