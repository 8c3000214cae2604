package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// TCP's checksum has 16 bits, and proxies between members recompute it. One flipped bit in a record, a vote or a
// commit index can lose an acknowledged write. Therefore each frame between members ends with a CRC-32C of all bytes
// before it. A checksum in the hello announces this.

// checksumLen is the size of a frame's checksum in bytes. The frame's length includes it.
const checksumLen = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrChecksum reports a frame that was changed on its way. The reader can continue with the next frame, unless the
// length was changed.
var ErrChecksum = &FrameError{Text: "frame checksum mismatch: it was changed on its way, send it again"}

// AppendChecksum appends the checksum to a frame, which must begin at frame[0], and adjusts its length.
func AppendChecksum(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame, binary.BigEndian.Uint32(frame)+checksumLen)
	return binary.BigEndian.AppendUint32(frame, crc32.Checksum(frame, castagnoli))
}

// Checksums makes the reader expect and verify a checksum at the end of all following frames.
func (r *Reader) Checksums() {
	if !r.checksums {
		r.checksums, r.max = true, r.max+checksumLen
	}
}

// verifyChecksum verifies the checksum of the frame with this payload, and returns the payload without the checksum.
func (r *Reader) verifyChecksum(payload []byte) ([]byte, error) {
	end := len(payload) - checksumLen
	if end < 0 || crc32.Update(crc32.Checksum(r.head[:], castagnoli), castagnoli, payload[:end]) != binary.BigEndian.Uint32(payload[end:]) {
		return nil, ErrChecksum
	}
	return payload[:end:end], nil
}

// SetChecksum sets the checksum of a member's hello, after all other fields. It announces checksums in later frames.
func (m *ClusterHello) SetChecksum() { m.Raft.Checksum = helloChecksum(m, m.Raft) }

// Checked reports whether the hello has a correct checksum.
func (m *ClusterHello) Checked() bool {
	return m.Raft != nil && m.Raft.Checksum == helloChecksum(m, m.Raft)
}

// SetChecksum sets the checksum of a member's answer, after all other fields. It announces checksums in later frames.
func (m *ClusterHelloOK) SetChecksum() { m.Raft.Checksum = helloChecksum(m, m.Raft) }

// Checked reports whether the answer has a correct checksum.
func (m *ClusterHelloOK) Checked() bool {
	return m.Raft != nil && m.Raft.Checksum == helloChecksum(m, m.Raft)
}

// helloChecksum returns the CRC-32C of the message encoded without its checksum. It is never 0, which means no
// checksum.
func helloChecksum(m Message, r *RaftHello) uint32 {
	was := r.Checksum
	r.Checksum = 0
	sum := crc32.Checksum(encodeInto(nil, m), castagnoli)
	r.Checksum = was
	return max(sum, 1)
}
