package oplog

import (
	"fmt"
	"slices"
	"strings"
)

// A node stops at an operation that it does not know. So members tell each other which kinds they read, and a kind
// that is newer than the first release enters the log only if all members read it. The state then notes the kind for
// ever, and a node that cannot read it cannot join.
//
// A field that is added to an operation or to a row has no such guard: an older member skips it, and its state
// differs from then on. So a new feature is a new kind, with its own table.

// Kinds is a set of kinds as members send it: their numbers in order, one byte each.
type Kinds []byte

// Reads returns the kinds that this version reads.
func Reads() (all Kinds) {
	for _, r := range kinds {
		if r.make != nil {
			all = append(all, byte(r.kind))
		}
	}
	return all
}

// Newer returns the kinds of operations that are newer than the first release.
func Newer(ops []Op) (newer Kinds) {
	for _, op := range ops {
		if k := op.Kind(); !kinds[k].firstRelease && !slices.Contains(newer, byte(k)) {
			newer = append(newer, byte(k))
		}
	}
	return newer
}

// Lacks returns the needed kinds that a member does not read, given the kinds that it reports. A member that reports
// nothing reads the kinds of the first release.
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
