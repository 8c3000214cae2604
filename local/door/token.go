package door

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// Token reads the token in a file, or creates the file with a new token. It rejects a file that other users can read.
func Token(path string) (string, error) {
	b, err := private.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newToken(path)
	}
	if err != nil {
		return "", err
	}
	t := strings.TrimRight(string(b), "\r\n")
	if t == "" {
		return "", fmt.Errorf("%s is empty: remove it, and a token is made", path)
	}
	return t, nil
}

func newToken(path string) (string, error) {
	var raw [24]byte
	rand.Read(raw[:]) // never fails
	t := hex.EncodeToString(raw[:])
	return t, syncwriter.Replace(path, []byte(t+"\n"), 0o600)
}
