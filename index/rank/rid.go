package rank

import (
	"bytes"
	"strings"

	"github.com/google/uuid"
)

// A RID is a memory's id in compact form. An id written as the server writes UUIDs needs no further memory.
type RID struct {
	uuid  [16]byte
	other *string // an id of another form; nil: the id is uuid
}

// MakeRID packs an id.
func MakeRID[T string | []byte](s T) RID {
	if u, ok := readUUID(s); ok {
		return RID{uuid: u}
	}
	other := strings.Clone(string(s)) // s may be a part of a large string
	return RID{other: &other}
}

// readUUID reads a UUID in the form that the server writes: small letters, and dashes.
func readUUID[T string | []byte](s T) (u [16]byte, ok bool) {
	if len(s) != 36 {
		return u, false
	}
	for i, at := 0, 0; i < len(s); i++ {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return u, false
			}
			continue
		}
		high, low := hexDigit(s[i]), hexDigit(s[i+1])
		if high > 15 || low > 15 {
			return u, false
		}
		u[at], at, i = high<<4|low, at+1, i+1
	}
	return u, true
}

// hexDigit returns the value of a digit, over 15 for none.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

// String returns the id.
func (r RID) String() string {
	if r.other != nil {
		return *r.other
	}
	return uuid.UUID(r.uuid).String()
}

// Compare orders ids as their strings are ordered.
func (r RID) Compare(o RID) int {
	if r.other == nil && o.other == nil { // hex digits sort in the order of their values
		return bytes.Compare(r.uuid[:], o.uuid[:])
	}
	return strings.Compare(r.String(), o.String())
}
