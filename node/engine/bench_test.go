package engine

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// BenchmarkDraft measures making the operation of one memory, with the digest for its idempotency key.
func BenchmarkDraft(b *testing.B) {
	st, err := state.Open(filepath.Join(b.TempDir(), "state"), state.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	body, err := (&oplog.Entry{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}).Encode()
	if err != nil {
		b.Fatal(err)
	}
	if _, err := st.Apply([]oplog.Record{{Index: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(1, 0, 1), body)}}); err != nil {
		b.Fatal(err)
	}
	s, c := &Service{state: st}, api.Caller{DB: oplog.DefaultDB}
	d := []api.Draft{{Text: strings.Repeat("Ada learned something on 5 May ", 10), Namespace: "agents", Importance: .5,
		Embedding: make([]float32, 64)}}
	b.ReportAllocs()
	for b.Loop() {
		digestDrafts(d)
		if _, err := s.prepareDrafts(b.Context(), c, d); err != nil {
			b.Fatal(err)
		}
	}
}
