package text

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// verify compares a segment's file with the checksum in its last four bytes.
// Bleve writes that checksum and never reads it; its decoders trust their bytes.
func verify(s segment.Segment) error {
	p, ok := s.(segment.PersistedSegment)
	if !ok || p.Path() == "" {
		return nil
	}
	f, err := os.Open(p.Path())
	if err != nil {
		return fmt.Errorf("verify segment: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("verify segment: %w", err)
	}
	if info.Size() < 4 {
		return corrupt(errors.New("segment file too short"))
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyBuffer(struct{ io.Writer }{sum}, io.LimitReader(f, info.Size()-4), make([]byte, 256<<10)); err != nil {
		return fmt.Errorf("verify segment: %w", err)
	}
	var want [4]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return fmt.Errorf("verify segment: %w", err)
	}
	if binary.BigEndian.Uint32(want[:]) != sum.Sum32() {
		return corrupt(errors.New("segment checksum differs"))
	}
	return nil
}
