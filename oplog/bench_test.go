package oplog

import (
	"strings"
	"testing"
)

// BenchmarkEntry encodes and decodes the entry of one memory.
func BenchmarkEntry(b *testing.B) {
	e := Entry{Node: 1, DB: 1, Key: NewID(), Digest: make([]byte, 32), Ops: []Op{&Remember{RID: NewID(), Text: strings.Repeat("an agent learned something ", 11), Type: "semantic",
		Importance: .5, HalfLife: 604800, Namespace: "agents", Created: 1 << 50, Vector: MakeVector(make([]float32, 64)), Extractor: 1, Entities: []Mention{{Name: "Ada"}, {Name: "Project 7"}}}}}
	body, err := e.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = e.Encode()
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = DecodeEntry(body)
		}
	})
}
