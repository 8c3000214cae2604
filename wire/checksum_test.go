package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// TestChecksums: a frame with a checksum is read as it was written, and rejected with any one bit of it changed.
func TestChecksums(t *testing.T) {
	frame, err := AppendPack(nil, OpRequestVote, 7,
		&RequestVote{Term: 4, CandidateID: 1, LastLogHLC: []byte{},
			Raft: &RaftVote{Term: 4, Candidate: 1, LastIndex: 90, LastTerm: 3}}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(frame)
	frame = AppendChecksum(frame)
	read := func(b []byte) (Frame, error) {
		r := NewReader(bytes.NewReader(b), MaxLength)
		r.Checksums()
		return r.Next()
	}
	f, err := read(frame)
	if got := AppendFrame(nil, f); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read as %x, %v, want %x", got, err, want)
	}
	for bit := range len(frame) * 8 {
		frame[bit/8] ^= 1 << (bit % 8)
		var fe *FrameError
		if f, err := read(frame); !errors.As(err, &fe) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("with bit %d changed it is read as %v, %v", bit, f, err)
		}
		frame[bit/8] ^= 1 << (bit % 8)
	}
	if _, err := read(want[:headLen]); err == nil {
		t.Error("a frame without a checksum is taken")
	}
}

// TestHelloChecksums: a hello's checksum covers all of its fields.
func TestHelloChecksums(t *testing.T) {
	h := &ClusterHello{NodeID: 2, Role: "voter", CurrentTerm: 3, ClusterSecret: "secret", AdvertiseAddr: "127.0.0.1:7440",
		ProtocolVersion: 1,
		Raft:            &RaftHello{ClusterID: "c", Purpose: "append", Reads: []byte{1, 2}, AckIndex: 8, AckTerm: 2}}
	if h.Checked() {
		t.Error("a hello without a checksum passes for one with it")
	}
	h.SetChecksum()
	f, err := Pack(OpClusterHello, 0, h, false)
	var got ClusterHello
	if err = errors.Join(err, Unpack(f, &got, MaxPlainEarly)); err != nil || !got.Checked() {
		t.Fatalf("%v, %v", got.Raft, err)
	}
	if got.Raft.AckIndex++; got.Checked() {
		t.Error("a hello with another index passes")
	}
}
