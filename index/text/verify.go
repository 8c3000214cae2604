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
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/pause"
)

// Verify checks the list of segments, and compares the files of those that are searched with their checksums, as Open
// did. It pauses for interval after each piece of a file. The error for the first damaged file is ErrCorrupt and a
// *damage.Error. The index stays usable meanwhile: Close does not wait for Verify, and Verify skips a file that was
// merged into another or removed with the index.
func (x *Index) Verify(ctx context.Context, interval time.Duration) error {
	paths, err := x.segmentPaths()
	if err != nil || x.store == nil {
		return err
	}
	if err := verifyRoot(x.cfg.Dir); err != nil {
		return err
	}
	for _, path := range paths {
		if err := verify(ctx, path, interval); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// reportDamage reports damage to the owner, and returns the error.
func (x *Index) reportDamage(err error) error {
	if errors.Is(err, ErrCorrupt) {
		x.cfg.Damaged(err)
	}
	return err
}

// segmentPaths returns the files of the segments that are searched now.
func (x *Index) segmentPaths() (paths []string, err error) {
	if x.store == nil {
		return nil, nil
	}
	if err := x.pin(); err != nil {
		return nil, err
	}
	defer x.users.Done()
	r, err := x.store.Reader()
	if err != nil {
		return nil, fmt.Errorf("bleve reader: %w", err)
	}
	defer r.Close()
	for _, s := range r.(*scorch.IndexSnapshot).Segments() {
		if path := pathOf(s.Segment()); path != "" {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// pathOf returns the file of a segment; empty for one that is in memory alone.
func pathOf(s segment.Segment) string {
	if p, ok := s.(segment.PersistedSegment); ok {
		return p.Path()
	}
	return ""
}

// verifyPiece is the number of bytes of a file that are read before a pause.
const verifyPiece = 256 << 10

// verify compares a segment's file with the checksum in its last four bytes.
// Bleve writes that checksum and never reads it; its decoders trust their bytes.
func verify(ctx context.Context, path string, interval time.Duration) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("verify segment: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("verify segment: %w", err)
	}
	remaining := info.Size() - crc32.Size
	if remaining < 0 {
		return corrupt(&damage.Error{Path: path, Err: errors.New("too short for a segment")})
	}
	sum, piece := crc32.NewIEEE(), make([]byte, min(remaining, verifyPiece))
	for ; remaining > 0; remaining -= int64(len(piece)) {
		piece = piece[:min(remaining, verifyPiece)]
		if _, err := io.ReadFull(f, piece); err != nil {
			return fmt.Errorf("verify segment: %w", err)
		}
		sum.Write(piece)
		if err := pause.For(ctx, interval); err != nil {
			return err
		}
	}
	var want [crc32.Size]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return fmt.Errorf("verify segment: %w", err)
	}
	if binary.BigEndian.Uint32(want[:]) != sum.Sum32() {
		return corrupt(&damage.Error{Path: path, Err: errors.New("its checksum differs")})
	}
	return nil
}
