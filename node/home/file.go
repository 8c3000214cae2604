package home

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
)

// readIfThere reads a file; nil when there is none.
func readIfThere(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// removeIfThere removes files of a home.
func removeIfThere(home string, names ...string) error {
	for _, name := range names {
		if err := os.Remove(filepath.Join(home, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// sumLine is the last line of a note for the next start: the checksum of what is before it.
func sumLine(b []byte) []byte { return fmt.Appendf(nil, "sum %08x\n", crc32.ChecksumIEEE(b)) }

// readNote reads a note without its last line; nil when there is none. whole says that it is what was written.
func readNote(path string) (text []byte, whole bool, err error) {
	raw, err := readIfThere(path)
	if raw == nil {
		return nil, true, err
	}
	at := bytes.LastIndexByte(bytes.TrimSuffix(raw, []byte("\n")), '\n') + 1
	return raw[:at], bytes.Equal(raw[at:], sumLine(raw[:at])), nil
}
