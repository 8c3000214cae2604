package state

import "github.com/cairndb/cairn/oplog"

// found remembers what nearly every entry asks, as far as it was asked. Whoever writes the rows that an answer comes
// from, or gives up what was written, has it forgotten.
type found struct {
	joins   map[place][]byte  // sessions that memories join of their own accord
	aliased map[oplog.DB]bool // databases that have aliases
}

func newFound() found { return found{map[place][]byte{}, map[oplog.DB]bool{}} }

func (f *found) clear() {
	clear(f.joins)
	clear(f.aliased)
}

// maxFound bounds how many answers of a kind are remembered.
const maxFound = 4096

// remember returns the answer for a key, and looks for it when it is not known.
func remember[K comparable, V any](known map[K]V, key K, look func() V) V {
	v, ok := known[key]
	if !ok {
		if v = look(); len(known) == maxFound {
			clear(known)
		}
		known[key] = v
	}
	return v
}
