package oplog

import (
	"fmt"
	"slices"
	"strings"
)

// A node that meets an operation it does not know stops. So members tell each other which kinds they read, and a kind
// that is newer than the first release enters the log only when all of them read it. From then on it is in the log
// for ever: the state notes it, and a node that cannot read it is not let in.
//
// A field added to an operation or to what it stores has no such guard: an older member passes over it, and its state
// is another one from there on. What is new is a new kind, and what it stores its own table.

// Kinds is a set of kinds as members tell each other: their numbers in order, a byte each.
type Kinds []byte

// Reads are the kinds this version reads.
func Reads() (all Kinds) {
	for _, r := range kinds {
		if r.make != nil {
			all = append(all, byte(r.kind))
		}
	}
	return all
}

// Newer are the kinds of some operations that not every version reads.
func Newer(ops []Op) (newer Kinds) {
	for _, op := range ops {
		if k := op.Kind(); !kinds[k].firstRelease && !slices.Contains(newer, byte(k)) {
			newer = append(newer, byte(k))
		}
	}
	return newer
}

// Lacks returns which of the needed kinds a member does not read, if it reports that it reads these. A member that
// reports nothing reads what the first release did.
func (reads Kinds) Lacks(needed Kinds) (missing Kinds) {
	for _, k := range needed {
		if !kinds[k].firstRelease && !slices.Contains(reads, k) {
			missing = append(missing, k)
		}
	}
	return missing
}

// String names the kinds; those of a later version have numbers only.
func (reads Kinds) String() string {
	names := make([]string, len(reads))
	for i, k := range reads {
		if names[i] = OpKind(k).String(); names[i] == "" {
			names[i] = fmt.Sprintf("kind %d", k)
		}
	}
	return strings.Join(names, ", ")
}
