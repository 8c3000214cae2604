package oplog

import (
	"bytes"
	"errors"
	"testing"
)

func FuzzDecodeRecord(f *testing.F) {
	body, err := Entry{DB: 1, Key: "k", Ops: []Op{&Remember{Content: Content{RID: "m", Text: "t"}}, &Forget{RID: "m"}}}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(EncodeRecord(MakeHLC(1, 2, 3), body, body))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, bodies, err := DecodeRecord(in)
		if err != nil {
			return
		}
		again, bodies2, err := DecodeRecord(EncodeRecord(h, bodies...))
		if err != nil || again != h || len(bodies2) != len(bodies) {
			t.Fatalf("%v %d bodies, then %v %d (%v)", h, len(bodies), again, len(bodies2), err)
		}
	})
}

func FuzzDecodeEntry(f *testing.F) {
	for _, k := range Reads() {
		body, err := Entry{DB: 1, Key: "k", Digest: []byte("d"), Ops: []Op{OpKind(k).New(), OpKind(k).New()}}.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		e, err := DecodeEntry(in)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Fatalf("not called unreadable: %v", err)
			}
			return
		}
		body, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeEntry(body)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(body, second) {
			t.Fatalf("%x, then %x (%v)", body, second, err)
		}
	})
}
