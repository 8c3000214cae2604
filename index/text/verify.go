package text

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Verify compares the files of the segments that are searched with their checksums, as Open did, and rests between two of them.
func (x *Index) Verify(ctx context.Context, rest time.Duration) error {
	if x.store == nil {
		return nil
	}
	if err := x.use(); err != nil {
		return err
	}
	defer x.users.Done()
	r, err := x.store.Reader()
	if err != nil {
		return fmt.Errorf("bleve reader: %w", err)
	}
	defer r.Close()
	for _, s := range r.(*scorch.IndexSnapshot).Segments() {
		if err := verify(s.Segment()); err != nil && !errors.Is(err, fs.ErrNotExist) { // merged into another since
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rest):
		}
	}
	return nil
}

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
		return corrupt(fmt.Errorf("segment %s is too short", filepath.Base(p.Path())))
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
		return corrupt(fmt.Errorf("segment %s: checksum differs", filepath.Base(p.Path())))
	}
	return nil
}
