package field

import (
	"encoding/json"
	"errors"
	"strconv"
)

// A Token is a position in the log, opaque to clients: they receive it from a write and pass it to a read. In JSON it
// is a string. Requests may contain a number instead, as the oldest clients send it.
type Token uint64

// wantToken describes the valid tokens, for error messages.
const wantToken = "a position in the log, as answers have it"

var errToken = errors.New("want " + wantToken)

// ParseToken parses a token.
func ParseToken(s string) (Token, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, errToken
	}
	return Token(n), nil
}

func (t Token) String() string { return strconv.FormatUint(uint64(t), 10) }

// MarshalJSON writes the token as a string.
func (t Token) MarshalJSON() ([]byte, error) { return strconv.AppendQuote(nil, t.String()), nil }

// UnmarshalJSON accepts a string or a whole number.
func (t *Token) UnmarshalJSON(raw []byte) (err error) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t, err = ParseToken(s)
		return err
	}
	v, ok := scalar("integer[0..]").number(string(raw))
	if !ok {
		return errToken
	}
	*t, err = ParseToken(strconv.FormatFloat(v, 'f', 0, 64))
	return err
}
