package rank

import (
	"bytes"
	"strings"

	"github.com/google/uuid"
)

// A RID is a memory's id in little room. One that is written as the server writes UUIDs takes no room beside it.
type RID struct {
	uuid  [16]byte
	other *string // an id of another form; nil: uuid is it
}

// MakeRID packs an id.
func MakeRID(s string) RID {
	if u, err := uuid.Parse(s); err == nil && u.String() == s {
		return RID{uuid: u}
	}
	s = strings.Clone(s) // it may be a piece of something large
	return RID{other: &s}
}

// String is the id as it was.
func (r RID) String() string {
	if r.other != nil {
		return *r.other
	}
	return uuid.UUID(r.uuid).String()
}

// Compare orders ids as their strings are ordered.
func (r RID) Compare(o RID) int {
	if r.other == nil && o.other == nil { // digits and letters of hex are in the order of what they stand for
		return bytes.Compare(r.uuid[:], o.uuid[:])
	}
	return strings.Compare(r.String(), o.String())
}
