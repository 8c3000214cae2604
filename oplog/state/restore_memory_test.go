package state

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestARestoreTakesLittleMemory: restoring a snapshot of 256 MiB needs much less memory than that, plain and
// encrypted. It is not parallel, because it measures the heap.
func TestARestoreTakesLittleMemory(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: measures what a process holds")
	}
	const size, rows, most = 64 << 10, 4 << 10, 64 << 20
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		value := make([]byte, size)
		each := func(row func(k, v []byte) error) error {
			rng := rand.New(rand.NewPCG(1, 1))
			for i := range uint64(rows) {
				for at := 0; at < size; at += 8 {
					binary.LittleEndian.PutUint64(value[at:], rng.Uint64())
				}
				if err := row(appendRow(nil, tMemory, 1, be64(i)), value); err != nil {
					return err
				}
			}
			return nil
		}
		var sum Sum
		must(t, each(func(k, v []byte) error { sum.addRow(k, v); return nil }))
		in, out := io.Pipe()
		go func() { // ends after the snapshot, or when its reader closes the pipe
			out.CloseWithError(snapshot.Write(out, rows*size, func(row func(k, v []byte) error) error {
				if err := row(appendRow(nil, tMeta, 0, keyPosition), oplog.Pack(nil, &position{Point: Point{Sum: sum}})); err != nil {
					return err
				}
				return each(row)
			}))
		}()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		before, peak, n := m.HeapAlloc, uint64(0), 0
		dir := filepath.Join(t.TempDir(), "built")
		must(t, build(dir, Options{NoSync: true, Keys: keys}, func(add func(k, v []byte) error) error {
			return receive(in, nil, func(k, v []byte) error {
				if n++; n%256 == 0 {
					runtime.GC()
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapAlloc)
				}
				return add(k, v)
			})
		}))
		must(t, in.Close())
		held := int64(peak) - int64(before)
		t.Logf("%s: %d MiB of rows took %d MiB of the heap", name, rows*size>>20, held>>20)
		if n != rows+1 || held > most { // the rows and the mark
			t.Errorf("%s: %d of %d rows took %d MiB of the heap, want %d at most", name, n, rows, held>>20, most>>20)
		}
		must(t, os.RemoveAll(dir))
	}
}
