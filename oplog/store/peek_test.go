package store

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// fillVectors writes n rows of the size of vectors, each with the small rows that a record of a state adds.
func fillVectors(t testing.TB, s *Store, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	value := make([]byte, 1536)
	for i := 0; i < n; i += 500 {
		b := s.Batch()
		for k := i; k < min(i+500, n); k++ {
			for j := 0; j < len(value); j += 8 {
				binary.LittleEndian.PutUint64(value[j:], rng.Uint64())
			}
			binary.LittleEndian.PutUint64(value, uint64(k))
			if err := b.Set(vectorKey('v', k), value); err != nil {
				t.Fatal(err)
			}
			if err := b.Set(vectorKey('m', k), value[:300]); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		b.Close()
	}
}

func vectorKey(table byte, k int) []byte {
	return binary.BigEndian.AppendUint64([]byte{table}, uint64(k))
}

// TestPeek: a snapshot returns the same values with and without a copy, in any order of reads.
func TestPeek(t *testing.T) {
	s, err := Open(t.TempDir(), Options{NoSync: true, Buffer: 256 << 10}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const n = 2000
	fillVectors(t, s, n)
	snap, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		rows := rng.Perm(n + 100)[:40]
		if rng.IntN(2) == 0 {
			slices.Sort(rows)
		}
		for _, k := range rows {
			want, there, err := s.Get(vectorKey('v', k))
			if err != nil || there != (k < n) {
				t.Fatalf("row %d: %v, %v", k, there, err)
			}
			if got, ok, err := snap.Peek(vectorKey('v', k)); err != nil || ok != there || !bytes.Equal(got, want) {
				t.Fatalf("row %d: %d bytes, %v, %v; want %d bytes", k, len(got), ok, err, len(want))
			}
		}
	}
}

// BenchmarkPeek reads 40 of 100,000 vectors, as a query does for its nearest rows.
func BenchmarkPeek(b *testing.B) {
	s, err := Open(b.TempDir(), Options{NoSync: true}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const n = 100_000
	fillVectors(b, s, n)
	for _, order := range []string{"any order", "ascending"} {
		b.Run(order, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(3, 4))
			for b.Loop() {
				snap, err := s.Snapshot()
				if err != nil {
					b.Fatal(err)
				}
				rows := make([]int, 40)
				for i := range rows {
					rows[i] = rng.IntN(n)
				}
				if order == "ascending" {
					slices.Sort(rows)
				}
				for _, k := range rows {
					if _, ok, err := snap.Peek(vectorKey('v', k)); !ok || err != nil {
						b.Fatal(ok, err)
					}
				}
				snap.Close()
			}
		})
	}
}
