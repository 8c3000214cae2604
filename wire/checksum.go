package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// TCP's checksum has 16 bits, and proxies between two members compute it again. One flipped bit in a record, a vote
// or a commit index can lose an acknowledged write. So each frame between members ends with CRC-32C of all bytes
// before it; a checksum in the hello announces that.

// checksumLen is the length of a frame's checksum in bytes; the frame's length counts them.
const checksumLen = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrChecksum says that a frame differs from the one that its sender wrote. The stream goes on behind it, unless its
// length was changed.
var ErrChecksum = &FrameError{Text: "frame checksum mismatch: it was changed on its way, send it again"}

// AppendChecksum ends a whole frame, which begins where the slice does, with its checksum.
func AppendChecksum(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame, binary.BigEndian.Uint32(frame)+checksumLen)
	return binary.BigEndian.AppendUint32(frame, crc32.Checksum(frame, castagnoli))
}

// Checksums has all frames from the next on end with a checksum, and rejects those that it does not match.
func (r *Reader) Checksums() {
	if !r.checksums {
		r.checksums, r.max = true, r.max+checksumLen
	}
}

// checked verifies the checksum of the frame with this payload, and returns the payload without it.
func (r *Reader) checked(payload []byte) ([]byte, error) {
	end := len(payload) - checksumLen
	if end < 0 || crc32.Update(crc32.Checksum(r.head[:], castagnoli), castagnoli, payload[:end]) != binary.BigEndian.Uint32(payload[end:]) {
		return nil, ErrChecksum
	}
	return payload[:end:end], nil
}

// SetChecksum ends the writing of a member's hello: frames behind it have checksums.
func (m *ClusterHello) SetChecksum() { m.Raft.Checksum = helloChecksum(m, m.Raft) }

// Checked reports whether a hello has a checksum that matches it.
func (m *ClusterHello) Checked() bool {
	return m.Raft != nil && m.Raft.Checksum == helloChecksum(m, m.Raft)
}

// SetChecksum ends the writing of a member's answer: frames behind it have checksums.
func (m *ClusterHelloOK) SetChecksum() { m.Raft.Checksum = helloChecksum(m, m.Raft) }

// Checked reports whether an answer has a checksum that matches it.
func (m *ClusterHelloOK) Checked() bool {
	return m.Raft != nil && m.Raft.Checksum == helloChecksum(m, m.Raft)
}

// helloChecksum is CRC-32C of the message encoded without its checksum; never 0, which stands for none.
func helloChecksum(m Message, r *RaftHello) uint32 {
	was := r.Checksum
	r.Checksum = 0
	sum := crc32.Checksum(encodeInto(nil, m), castagnoli)
	r.Checksum = was
	return max(sum, 1)
}
