package oplog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// BenchmarkEntry encodes and decodes the entry of one memory.
func BenchmarkEntry(b *testing.B) {
	e := Entry{Node: 1, DB: 1, Key: NewID(), Digest: make([]byte, 32), Ops: []Op{&Remember{Content: Content{RID: NewID(),
		Text: strings.Repeat("an agent learned something ", 11), Type: "semantic", Importance: .5, HalfLife: 604800, Namespace: "agents",
		Created: 1 << 50, Extractor: 1}, Vector: MakeVector(make([]float32, 64)), Entities: []Mention{{Name: "Ada"}, {Name: "Project 7"}}}}}
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

// BenchmarkRows decodes rows that every write reads, with Unpack and with the msgpack library.
func BenchmarkRows(b *testing.B) {
	for _, v := range []any{&Stats{NextSeq: 70_000, Counts: Counts{Active: 69_000}, Operations: 1 << 20},
		&Database{ID: 1, Name: "default", Created: 1 << 50, Embedder: &Embedder{Name: "builtin", Version: "1", Dim: 64}},
		&Entity{Name: "Ada", Type: "person", First: 1 << 50, Last: 1 << 50, Mentions: 7}} {
		in := encoded(v)
		for name, read := range map[string]func([]byte, any) error{"unpack": Unpack,
			"library": func(in []byte, v any) error { return msgpack.Unmarshal(in, v) }} {
			b.Run(fmt.Sprintf("%T/%s", v, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_ = read(in, fresh(v))
				}
			})
		}
	}
}
