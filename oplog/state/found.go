package state

import "github.com/cairndb/cairn/oplog"

// lookupCache remembers what nearly every entry asks, as far as it was asked. Whoever writes the rows that an answer comes
// from, or gives up what was written, has it forgotten.
type lookupCache struct {
	newestActive map[namespaceID][]byte // sessions that memories join of their own accord
	hasAliases   map[oplog.DB]bool      // databases that have aliases
}

func newLookupCache() lookupCache { return lookupCache{map[namespaceID][]byte{}, map[oplog.DB]bool{}} }

func (f *lookupCache) clear() {
	clear(f.newestActive)
	clear(f.hasAliases)
}

// maxCached bounds how many answers of a kind are remembered.
const maxCached = 4096

// cached returns the answer for a key, and looks for it when it is not known.
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
