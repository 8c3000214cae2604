package field

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// UTF8 returns an error if JSON is not valid UTF-8. It names the position of the first invalid byte, counted from 0,
// and the field with it. encoding/json would silently replace invalid bytes with U+FFFD.
func UTF8(raw []byte) error {
	if utf8.Valid(raw) {
		return nil
	}
	at := FirstNotUTF8(string(raw))
	if name := fieldAt(raw, at); name != "" {
		return fmt.Errorf("%s: byte %d of the JSON is not UTF-8", name, at)
	}
	return fmt.Errorf("byte %d is not UTF-8", at)
}

// FirstNotUTF8 returns the position of the first byte of a text that is not UTF-8; -1 for none.
func FirstNotUTF8(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// fieldAt returns the path of the value at a byte of JSON, such as memories[2].text; blank if the byte is outside of
// fields or in a name.
func fieldAt(raw []byte, at int) string {
	type level struct {
		list, named bool // named: its value comes next
		name        string
		n           int
	}
	var open []level
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		t, err := d.Token()
		if err != nil {
			return ""
		}
		top := max(len(open)-1, 0)
		name, isName := t.(string)
		switch delim, _ := t.(json.Delim); {
		case delim == '{' || delim == '[':
			open = append(open, level{list: delim == '['})
			continue
		case delim != 0:
			open = open[:top]
			top--
		case len(open) > 0 && !open[top].list && !open[top].named && isName:
			if open[top].name, open[top].named = name, true; int(d.InputOffset()) > at {
				return ""
			}
			continue
		}
		if int(d.InputOffset()) > at {
			break
		}
		if top >= 0 && len(open) > 0 {
			open[top].named = false
			open[top].n++
		}
	}
	var path strings.Builder
	for _, l := range open {
		if l.list {
			path.WriteString("[" + strconv.Itoa(l.n) + "]")
		} else {
			path.WriteString("." + l.name)
		}
	}
	return strings.TrimPrefix(path.String(), ".")
}

// HeaderText returns the text of an HTTP header. JavaScript clients send it in Latin-1, others in UTF-8.
func HeaderText(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	letters := make([]rune, len(value))
	for i := range letters {
		letters[i] = rune(value[i])
	}
	return string(letters)
}
