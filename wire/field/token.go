package field

import (
	"encoding/json"
	"errors"
	"strconv"
)

// A Token is a position in the log as clients keep it: they get it with a write, pass it on with a read, and look for
// nothing in it. In JSON it is a text. A request may have the number instead, as the oldest clients do.
type Token uint64

// wantToken says what a request may have.
const wantToken = "a position in the log, as answers have it"

var errToken = errors.New("want " + wantToken)

// ParseToken reads a token of a URL, a command line or an answer.
func ParseToken(s string) (Token, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, errToken
	}
	return Token(n), nil
}

func (t Token) String() string { return strconv.FormatUint(uint64(t), 10) }

// MarshalJSON writes the token as a text.
func (t Token) MarshalJSON() ([]byte, error) { return strconv.AppendQuote(nil, t.String()), nil }

// UnmarshalJSON reads a text or a whole number.
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
