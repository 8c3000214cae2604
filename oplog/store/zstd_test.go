package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestPebbleReadsItsZstd writes tables with zstd blocks and reads them back. With cgo, pebble compresses through the
// module that go.mod puts in place of DataDog's.
func TestPebbleReadsItsZstd(t *testing.T) {
	t.Parallel()
	o := &pebble.Options{FS: vfs.NewMem(), FormatMajorVersion: pebble.FormatNewest}
	for i := range o.Levels {
		o.Levels[i].Compression = func() *block.CompressionProfile { return block.ZstdCompression }
	}
	db, err := pebble.Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300<<10)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	want := map[string][]byte{"empty": {}, "zeros": make([]byte, 1<<20), "noise": noise,
		"text": bytes.Repeat([]byte("Alice leads the payments team. "), 3000)}
	for i := range 200 {
		want[fmt.Sprint("row ", i)] = noise[i*7 : i*7+i*5]
	}
	for k, v := range want {
		if err := db.Set([]byte(k), v, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := db.Compact(t.Context(), []byte{0}, []byte{0xff}, false); err != nil {
		t.Fatal(err)
	}
	for k, v := range want {
		got, c, err := db.Get([]byte(k))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, v) {
			t.Errorf("%s: got %d bytes, want %d", k, len(got), len(v))
		}
		c.Close()
	}
}
