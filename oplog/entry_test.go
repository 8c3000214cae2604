package oplog

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestARecordOfZeros: a record of a few kilobytes may decompress to the lengths of millions of empty entries. It is
// rejected before there is a list of them.
func TestARecordOfZeros(t *testing.T) {
	t.Parallel()
	h := MakeHLC(1, 2, 3)
	if _, bodies, err := DecodeRecord(EncodeRecord(h, make([][]byte, MaxEntries)...)); err != nil || len(bodies) != MaxEntries {
		t.Errorf("%d bodies, %v", len(bodies), err)
	}
	rec := EncodeRecord(h, make([][]byte, 2*MaxEntries)...)
	if _, bodies, err := DecodeRecord(rec); !errors.Is(err, ErrRecord) || bodies != nil {
		t.Errorf("%d bodies of %d bytes, %v", len(bodies), len(rec), err)
	}
}

// TestTheSizeOfARecord: the size of a compressed record is that of its content, or the maximum if the stream does not
// announce it.
func TestTheSizeOfARecord(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("lighthouse "), 1<<16)
	plain, packed := EncodeRecord(MakeHLC(1, 2, 3), []byte("short")), EncodeRecord(MakeHLC(1, 2, 3), body)
	var stream bytes.Buffer
	w, err := zstd.NewWriter(&stream)
	if err == nil {
		_, err = w.Write(body)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	untold := append(bytes.Clone(packed[:headLen]), stream.Bytes()...)
	if got := RecordSize(plain); got != len(plain) {
		t.Errorf("a plain one: %d, want %d", got, len(plain))
	}
	if got := RecordSize(packed); got < len(body) || got > len(body)+64 {
		t.Errorf("a compressed one of %d bytes: %d, want about %d", len(packed), got, len(body))
	}
	if got := RecordSize(untold); got != MaxRecord {
		t.Errorf("one that does not tell: %d, want %d", got, MaxRecord)
	}
}

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
