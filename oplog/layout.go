package oplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/cairndb/cairn/oplog/seal"
)

// layouts say what the keys of an encrypted file are made of, a letter a part:
//
//	b 8   one byte, eight bytes: as they are
//	n     a string with its length before it (joinKey's): sealed
//	t     the rest: sealed
//	i     the rest, an id: as it is when it is a UUID, sealed otherwise
//	*     the rest: as it is
//
// A capital T or I says that rows which agree in all that stands before are walked in the order of their plain keys, as
// on a node that does not encrypt: Apply, or an answer, depends on it. Other sealed parts have an order of their own, the
// same at every look, which is all that those who walk in pages need. A table that is not here has nothing to hide.
var layouts = map[tableID]string{
	tDatabaseName: "t", tRID: "i", tNamespace: "n*", tNamespaceSum: "n*", tEdge: "i", tTriple: "t", tBySource: "nI", tByTarget: "nI", tClaim: "i",
	tStatement: "t", tClaimBy: "nI", tAlias: "t", tEntity: "T", tEntityMemory: "n*", tSession: "i", tSessionMemory: "n*",
	tActivePair: "t", tActiveSession: "n8I", tSessionStart: "8I", tSessionPair: "nn8I", tKey: "t", tKeyExpiry: "8T", tForeign: "i",
	tEventHash: "t", tEventSummary: "i", tEventSession: "t", tEventCount: "t", tFolded: "nT", tConflict: "i", tConflictPair: "t",
	tConflictOrder: "bb8I", tConflictSide: "nI", tTrigger: "i", tTriggerOrder: "b8I", tTriggerCool: "t", tPattern: "T",
	tReceipt: "i", tReceiptBy: "n88I", tReceiptTime: "88I", tReceiptOf: "nI", tGrantAction: "nn*", tGrantSubject: "n*",
}

// codec turns the keys and values of a file into what is stored, and back. One without a ring leaves them as they are and
// stores a sum behind each value, so that a bit which flips in a row, its key or its place is found when it is read, as it is
// in what is encrypted. A nil codec is that of older files, which have no sums.
type codec struct {
	ring  *seal.Ring
	names *seal.Names
	sums  bool // behind the values that are not encrypted because they are empty; older files have none
}

// seals says whether keys and values are encrypted.
func (c *codec) seals() bool { return c != nil && c.ring != nil }

// The marks before an id.
const (
	idPlain  = 0
	idSealed = 1
)

const uuidLen = 36

// isUUID says whether an id is one that nodes make: it names nothing.
func isUUID(id []byte) bool {
	if len(id) != uuidLen {
		return false
	}
	for i, c := range id {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// label keeps equal names in different tables, databases and places apart.
func label(id bucketID, part int) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{byte(id.table)}, uint32(id.db)), byte(part))
}

// layout is how the keys of a table are sealed; empty when they are not.
func (c *codec) layout(table tableID) string {
	if !c.seals() {
		return ""
	}
	return layouts[table]
}

// key is how a key, or the beginning of one that ends between two parts, is stored.
func (c *codec) key(id bucketID, plain []byte) []byte {
	layout := c.layout(id.table)
	if layout == "" {
		return plain
	}
	out := make([]byte, 0, len(plain)+seal.NameOverhead*len(layout)+1)
	for i := 0; i < len(layout) && len(plain) > 0; i++ {
		n := len(plain)
		switch layout[i] {
		case 'b':
			n = 1
		case '8':
			n = min(8, n)
		case 'n':
			n = 4 + int(beUint32(plain))
			if len(plain) < 4 || n > len(plain) {
				panic(fmt.Sprintf("oplog: a key of table %s ends inside a name", tableNames[id.table]))
			}
			out = binary.BigEndian.AppendUint32(out, uint32(n-4+seal.NameOverhead))
			out = c.names.Seal(out, plain[4:n], label(id, i))
			plain = plain[n:]
			continue
		case 'i', 'I':
			if isUUID(plain) {
				out = append(out, idPlain)
				break
			}
			out = append(out, idSealed)
			fallthrough
		case 't', 'T':
			return c.names.Seal(out, plain, label(id, i))
		}
		out, plain = append(out, plain[:n]...), plain[n:]
	}
	return out
}

// plainKey reads a stored key. head is how much of it stands before a part at its end that may be sealed.
func (c *codec) plainKey(id bucketID, stored []byte) (plain []byte, head int, err error) {
	layout := c.layout(id.table)
	if layout == "" {
		return stored, len(stored), nil
	}
	rest := stored
	plain = make([]byte, 0, len(stored))
	for i := 0; i < len(layout) && len(rest) > 0; i++ {
		n := len(rest)
		switch layout[i] {
		case 'b':
			n = 1
		case '8':
			n = min(8, n)
		case 'n':
			n = 4 + int(beUint32(rest))
			if len(rest) < 4 || n > len(rest) || n < 4+seal.NameOverhead {
				return nil, 0, fmt.Errorf("%w: a key of %d bytes", seal.ErrDamaged, len(stored))
			}
			plain = binary.BigEndian.AppendUint32(plain, uint32(n-4-seal.NameOverhead))
			if plain, err = c.names.Open(plain, rest[4:n], label(id, i)); err != nil {
				return nil, 0, err
			}
			rest = rest[n:]
			continue
		case 'i', 'I', 't', 'T':
			head = len(stored) - len(rest)
			if layout[i] == 'i' || layout[i] == 'I' {
				mark := rest[0]
				if rest = rest[1:]; mark == idPlain {
					return append(plain, rest...), head, nil
				}
			}
			plain, err = c.names.Open(plain, rest, label(id, i))
			return plain, head, err
		}
		plain, rest = append(plain, rest[:n]...), rest[n:]
	}
	return plain, len(stored), nil
}

// inOrder says whether rows that agree before their last part are walked by plain keys.
func inOrder(table tableID) bool {
	return strings.HasSuffix(layouts[table], "I") || strings.HasSuffix(layouts[table], "T")
}

// place is where a value lies: it opens nowhere else.
func place(id bucketID, stored []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{byte(id.table)}, uint32(id.db)), stored...)
}

// value is how a value is stored. An empty one says nothing, and where it would be encrypted there is only its sum.
func (c *codec) value(id bucketID, stored, plain []byte) []byte {
	switch {
	case c == nil:
		return plain
	case !c.seals(), len(plain) == 0 && c.sums:
		return binary.BigEndian.AppendUint32(append(make([]byte, 0, len(plain)+rowSumLen), plain...), rowSum(id, stored, plain))
	case len(plain) == 0:
		return plain
	}
	return c.ring.Seal(make([]byte, 0, len(plain)+seal.Overhead), plain, place(id, stored))
}

// plainValue reads a stored value; nil is none. It belongs to the caller on an encrypted node, to the page on another.
func (c *codec) plainValue(id bucketID, stored, value []byte) ([]byte, error) {
	switch {
	case c == nil || value == nil:
		return value, nil
	case !c.seals(), len(value) == rowSumLen && c.sums:
		n := len(value) - rowSumLen
		if n < 0 || rowSum(id, stored, value[:n]) != binary.BigEndian.Uint32(value[n:]) {
			return nil, errRowSum
		}
		return value[:n:n], nil
	case len(value) == 0 && !c.sums:
		return value, nil
	}
	return c.ring.Open(nil, value, place(id, stored))
}

const rowSumLen = 4

var errRowSum = errors.New("its sum differs")

// rowSum is the CRC-32C of where a value lies and of the value.
func rowSum(id bucketID, stored, plain []byte) uint32 {
	head := [5]byte{byte(id.table)}
	binary.BigEndian.PutUint32(head[1:], uint32(id.db))
	sum := crc32.Checksum(head[:], castagnoli)
	return crc32.Update(crc32.Update(sum, castagnoli, stored), castagnoli, plain)
}
