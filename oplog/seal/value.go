package seal

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

const (
	idSize    = 4
	nonceSize = 12
	tagSize   = 16

	// Overhead is the number of bytes that sealing adds to a value.
	Overhead = idSize + nonceSize + tagSize
)

// Seal appends a sealed value to dst. Open needs the same place.
func (r *Ring) Seal(dst, value, place []byte) []byte {
	if r == nil {
		return append(dst, value...)
	}
	k := r.activeKey()
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(k.ID))
	var nonce [nonceSize]byte
	rand.Read(nonce[:])
	dst = append(dst, nonce[:]...)
	return k.values.Seal(dst, dst[at+idSize:], value, place)
}

// Open appends the plain text of a sealed value to dst.
func (r *Ring) Open(dst, sealed, place []byte) ([]byte, error) {
	if r == nil {
		return append(dst, sealed...), nil
	}
	if len(sealed) < Overhead {
		return nil, fmt.Errorf("%w: %d bytes are not an encrypted value", ErrDamaged, len(sealed))
	}
	k, err := r.dataKey(KeyID(binary.BigEndian.Uint32(sealed)))
	if err != nil {
		return nil, err
	}
	out, err := k.values.Open(dst, sealed[idSize:idSize+nonceSize], sealed[idSize+nonceSize:], place)
	if err != nil {
		return nil, fmt.Errorf("%w: authentication failed", ErrDamaged)
	}
	return out, nil
}

// Line seals a line of a text file. The result is base64 without a newline.
func (r *Ring) Line(line []byte, place string) []byte {
	if r == nil {
		return line
	}
	sealed := r.Seal(make([]byte, 0, len(line)+Overhead), line, []byte(place))
	return base64.StdEncoding.AppendEncode(nil, sealed)
}

// OpenLine opens a line that Line sealed. A line that begins like JSON is not sealed.
func (r *Ring) OpenLine(line []byte, place string) ([]byte, error) {
	if r == nil {
		return line, nil
	}
	if len(line) > 0 && line[0] == '{' {
		return nil, fmt.Errorf("%w: a line of JSON", ErrPlain)
	}
	sealed, err := base64.StdEncoding.AppendDecode(nil, line)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return r.Open(nil, sealed, []byte(place))
}
