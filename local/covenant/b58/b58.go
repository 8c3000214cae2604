// Package b58 is base58 with the Bitcoin alphabet: how keys, tokens and signatures are written. Inputs are short; Decode
// bounds them, for its cost grows with the square of the length. It is functions of text; covenant calls it from anywhere.
package b58

import (
	"errors"
	"fmt"
)

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// ErrLong is a text longer than anything this protocol writes in base58.
var ErrLong = errors.New("text is too long")

const maxText = 256

// Encode writes b.
func Encode(b []byte) string {
	zeros := 0
	for zeros < len(b) && b[zeros] == 0 {
		zeros++
	}
	digits := make([]byte, 0, len(b)*138/100+1) // little-endian, base 58
	for _, x := range b[zeros:] {
		carry := int(x)
		for i := range digits {
			carry += int(digits[i]) << 8
			digits[i] = byte(carry % 58)
			carry /= 58
		}
		for ; carry > 0; carry /= 58 {
			digits = append(digits, byte(carry%58))
		}
	}
	out := make([]byte, zeros, zeros+len(digits))
	for i := range out {
		out[i] = alphabet[0]
	}
	for i := len(digits) - 1; i >= 0; i-- {
		out = append(out, alphabet[digits[i]])
	}
	return string(out)
}

// Decode reads s.
func Decode(s string) ([]byte, error) {
	if len(s) > maxText {
		return nil, ErrLong
	}
	zeros := 0
	for zeros < len(s) && s[zeros] == alphabet[0] {
		zeros++
	}
	var bytes []byte // little-endian
	for i := zeros; i < len(s); i++ {
		carry := value(s[i])
		if carry < 0 {
			return nil, fmt.Errorf("character %q at byte %d is not of the alphabet", s[i], i)
		}
		for j := range bytes {
			carry += int(bytes[j]) * 58
			bytes[j] = byte(carry)
			carry >>= 8
		}
		for ; carry > 0; carry >>= 8 {
			bytes = append(bytes, byte(carry))
		}
	}
	out := make([]byte, zeros, zeros+len(bytes))
	for i := len(bytes) - 1; i >= 0; i-- {
		out = append(out, bytes[i])
	}
	return out, nil
}

func value(c byte) int {
	for i := range len(alphabet) {
		if alphabet[i] == c {
			return i
		}
	}
	return -1
}
