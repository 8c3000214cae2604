package door

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Token reads the token in a file, or makes both. A file that others may read protects nothing, and is refused.
func Token(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return newToken(path)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if m := info.Mode(); !m.IsRegular() || m.Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s has mode %s: others may read or change it; chmod 600 it, or remove it and another is made", path, m)
	}
	b, err := io.ReadAll(io.LimitReader(f, 4<<10))
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
