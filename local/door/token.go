package door

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/cairndb/cairn/oplog/private"
)

// Token reads the token in a file; if there is no file, it makes one with a new token. It rejects a file that other
// users may read.
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
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(t + "\n")
	return t, errors.Join(err, f.Sync(), f.Close())
}
