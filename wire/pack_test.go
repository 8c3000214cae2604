package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire/field"
)

// TestHowPayloadsAreCompressed: a compressed payload is read with or without an announced length, in one block or
// several. It is rejected if it is longer than allowed, whatever length it announces.
func TestHowPayloadsAreCompressed(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	w, err := zstd.NewWriter(nil, zstd.WithWindowSize(MaxPlainEarly))
	if err != nil {
		t.Fatal(err)
	}
	streamed := func(b []byte) []byte {
		var out bytes.Buffer
		w.Reset(&out)
		for len(b) > 0 { // in parts, or it would say how long it is
			n := min(len(b), 100_000)
			if _, err := w.Write(b[:n]); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			b = b[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	whole := func(b []byte) []byte { return w.EncodeAll(b, nil) }
	text := func(n int) []byte { // a msgpack string of n bytes in all
		return append([]byte{0xdb, byte((n - 5) >> 24), byte((n - 5) >> 16), byte((n - 5) >> 8), byte(n - 5)}, strings.Repeat("x", n-5)...)
	}
	for _, limit := range []int{MaxPlainEarly, MaxPlainClient, MaxPlainPeer} {
		for name, payload := range map[string][]byte{
			"whole": whole(text(limit)), "streamed": streamed(text(limit)),
			"two parts":   append(whole(text(limit)[:9]), whole(text(limit)[9:])...),
			"mixed parts": append(whole(text(limit)[:limit/2]), streamed(text(limit)[limit/2:])...),
		} {
			f := Frame{Flags: Version | FlagZstd, Op: OpPing, Payload: payload}
			if b, err := Plain(f, limit); err != nil || !bytes.Equal(b, text(limit)) {
				t.Errorf("%s of %d: %d bytes, %v", name, limit, len(b), err)
			}
		}
		for name, payload := range map[string][]byte{
			"whole": whole(text(limit + 1)), "streamed": streamed(text(limit + 1)),
			"two parts": append(whole(text(limit)), whole([]byte{1})...), "a bomb": streamed(make([]byte, 64<<20)),
		} {
			f := Frame{Flags: Version | FlagZstd, Op: OpPing, Payload: payload}
			if b, err := Plain(f, limit); !errors.Is(err, ErrPayload) {
				t.Errorf("%s over %d: %d bytes, %v", name, limit, len(b), err)
			}
		}
	}
}

// TestRecordsOfAFrameAreCounted: the number of values that take much more memory when decoded is limited.
func TestRecordsOfAFrameAreCounted(t *testing.T) {
	for n, ok := range map[int]bool{maxEntries: true, maxEntries + 1: false} {
		f, err := Pack(OpOplogPush, 0,
			&OplogPush{Database: "default", Ops: []OplogEntry{}, Raft: &RaftAppend{Entries: make([]RaftEntry, n)}}, false)
		if err != nil {
			t.Fatal(err)
		}
		var m OplogPush
		if err := Unpack(f, &m, MaxPlainPeer); (err == nil) != ok || !ok && !IsPayload(err) {
			t.Errorf("%d records: %v", n, err)
		}
	}
}

// TestAFewKilobytesAreNotGigabytes: a list of the smallest memories, or of empty strings, compresses to nothing.
func TestAFewKilobytesAreNotGigabytes(t *testing.T) {
	for _, c := range []struct {
		field string
		item  []byte
		most  int
		into  func() Message
	}{
		{"memories", []byte{0x91, 0xA0}, field.MaxObjects, func() Message { return &RememberBatch{} }},
		{"events", []byte{0xA0}, maxValues, func() Message { return &Subscribe{} }},
	} {
		for n, ok := range map[int]bool{c.most: true, c.most + 1: false} {
			b := appendArray(appendStr(appendMap(nil, 1), c.field), n)
			b = append(b, bytes.Repeat(c.item, n)...)
			f := Frame{Flags: Version | FlagZstd, Payload: encoder().EncodeAll(b, nil)}
			if err := UnpackExact(f, c.into(), MaxPlainClient); (err == nil) != ok || !ok && !IsPayload(err) {
				t.Errorf("%d %s in %d bytes: %v", n, c.field, len(f.Payload), err)
			}
		}
	}
}

// TestABitOfACompressedFrame: a flipped bit in a compressed frame is always detected, or changes nothing.
func TestABitOfACompressedFrame(t *testing.T) {
	text := bytes.Repeat([]byte("a memory that travels "), 400)
	f, err := Pack(OpRemember, 1, &Remember{Text: string(text)}, false)
	if err != nil {
		t.Fatal(err)
	}
	for at := range f.Payload {
		for bit := range 8 {
			bad := f
			bad.Payload = bytes.Clone(f.Payload)
			bad.Payload[at] ^= 1 << bit
			var got Remember
			if err := Unpack(bad, &got, MaxPlainPeer); err == nil && got.Text != string(text) {
				t.Fatalf("bit %d of byte %d of %d: taken for another message", bit, at, len(f.Payload))
			}
		}
	}
}
