// Package b58 is base58 with the Bitcoin alphabet: how keys, tokens and signatures are written. Inputs are short;
// Decode bounds them, for its cost grows with the square of the length. It is functions of text; covenant calls it from
// anywhere.
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

// ErrLong is a text longer than anything this protocol writes in base58.
var ErrLong = errors.New("text is too long")

const maxText = 256

// Encode writes b: a number, whose leading zero bytes are written one for one.
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

// Decode reads s.
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
