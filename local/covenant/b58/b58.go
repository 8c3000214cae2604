// Package b58 implements base58 with the Bitcoin alphabet, the encoding of keys, tokens and signatures. Decode
// rejects long inputs, because its cost is quadratic in the length.
package b58

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

var base = big.NewInt(int64(len(alphabet)))

// ErrLong rejects a text that is longer than anything this protocol encodes.
var ErrLong = errors.New("text is too long")

const maxText = 256

// Encode encodes b as a number, preceded by one zero digit for each leading zero byte.
func Encode(b []byte) string {
	var out []byte // the last digit first
	digit := new(big.Int)
	for n := new(big.Int).SetBytes(b); n.Sign() > 0; {
		n.DivMod(n, base, digit)
		out = append(out, alphabet[digit.Int64()])
	}
	for i := 0; i < len(b) && b[i] == 0; i++ {
		out = append(out, alphabet[0])
	}
	slices.Reverse(out)
	return string(out)
}

// Decode decodes s.
func Decode(s string) ([]byte, error) {
	if len(s) > maxText {
		return nil, ErrLong
	}
	n := new(big.Int)
	for i := range len(s) {
		digit := strings.IndexByte(alphabet, s[i])
		if digit < 0 {
			return nil, fmt.Errorf("character %q at byte %d is not of the alphabet", s[i], i)
		}
		n.Add(n.Mul(n, base), big.NewInt(int64(digit)))
	}
	zeros := len(s) - len(strings.TrimLeft(s, alphabet[:1]))
	return append(bytes.Repeat([]byte{0}, zeros), n.Bytes()...), nil
}
