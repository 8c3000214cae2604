// Package modeldir reads the small files of a model's directory, whose lengths are not trusted.
package modeldir

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Read reads a file. A file of more than maxBytes is an error.
func Read(path string, maxBytes int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > maxBytes {
		return nil, fmt.Errorf("%s: over %d bytes", path, maxBytes)
	}
	return raw, nil
}

// maxConfig bounds a configuration.
const maxConfig = 1 << 20

// JSON reads a configuration into v.
func JSON(path string, v any) error {
	raw, err := Read(path, maxConfig)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
