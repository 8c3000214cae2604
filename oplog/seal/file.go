package seal

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The layout of a sealed file, which doc.go describes.
const (
	sector = 512 // the unit that a disk writes as a whole

	fileMagic   = "CAIRNSEA"
	fileVersion = 2
	saltAt      = 16
	saltSize    = 32
	headSize    = sector

	kindRing   = 0
	kindMaster = 1

	blockSize  = 16 << 10 // on the disk
	blockHead  = 4 + 4 + 4 + nonceSize
	blockPlain = blockSize - blockHead - tagSize
	markBit    = 1 << 31
)

// maxBlocks bounds the block numbers, so that each is used once: 2^31 blocks are 32 TiB.
const maxBlocks = 1 << 31

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newHead returns the head of a file that is sealed under a key.
func newHead(kind byte, id KeyID) []byte {
	head := make([]byte, headSize)
	copy(head, fileMagic)
	head[8], head[9] = fileVersion, kind
	binary.BigEndian.PutUint32(head[12:], uint32(id))
	rand.Read(head[saltAt : saltAt+saltSize])
	binary.BigEndian.PutUint32(head[headSize-4:], crc32.Checksum(head[:headSize-4], castagnoli))
	return head
}

// IsSealed reports whether a file that begins with these bytes is sealed. It needs eight bytes.
func IsSealed(head []byte) bool { return bytes.HasPrefix(head, []byte(fileMagic)) }

// FileKey returns the data key that a file is sealed under, from its first 512 bytes. ok is false for a file that is
// not sealed, or is sealed under the master key.
func FileKey(head []byte) (id KeyID, ok bool) {
	if checkHead(head) != nil || head[9] != kindRing {
		return 0, false
	}
	return KeyID(binary.BigEndian.Uint32(head[12:])), true
}

func checkHead(head []byte) error {
	switch {
	case !IsSealed(head):
		return fmt.Errorf("%w: it is not an encrypted file", ErrPlain)
	case len(head) < headSize:
		return fmt.Errorf("%w: its header is cut short", ErrDamaged)
	case binary.BigEndian.Uint32(head[headSize-4:headSize]) != crc32.Checksum(head[:headSize-4], castagnoli):
		return fmt.Errorf("%w: the checksum of its header does not match", ErrDamaged)
	case head[8] != fileVersion:
		return fmt.Errorf("%w: encrypted file of version %d, this version of Cairn reads %d", ErrDamaged, head[8], fileVersion)
	}
	return nil
}

// fileCipher returns the cipher for a file with this head. A nil Ring has none.
func (r *Ring) fileCipher(head []byte) (cipher.AEAD, error) {
	if err := checkHead(head); err != nil {
		return nil, err
	}
	if r == nil {
		return nil, ErrSealed
	}
	id := KeyID(binary.BigEndian.Uint32(head[12:]))
	switch kind := head[9]; kind {
	case kindRing:
		k, err := r.dataKey(id)
		if err != nil {
			return nil, err
		}
		return cipherFor(k.key, head), nil
	case kindMaster:
		m, ok := r.master(id)
		if !ok {
			return nil, fmt.Errorf("%w: the file is encrypted under master key %s", ErrKey, id)
		}
		return cipherFor(m.key, head), nil
	default:
		return nil, fmt.Errorf("%w: encrypted file of kind %d", ErrDamaged, kind)
	}
}

// cipherFor derives a file's own key. The salt has 256 random bits, so no two files share a key.
func cipherFor(by [keySize]byte, head []byte) cipher.AEAD {
	return gcm(derive(by, head[saltAt:saltAt+saltSize], "cairn file "+string(head[:saltAt])))
}

// A block holds the head of a block, which can be read without opening the block.
type block struct {
	number uint32
	length int    // bytes of plain text
	mark   bool   // the writer synced or closed after this block
	since  uint32 // with a mark: the first block after the previous mark
}

// size returns how many bytes the block takes on the disk.
func (b block) size() int { return sealedSize(b.length) }

// sealedSize returns how many bytes a block of so many plain bytes takes on the disk: whole sectors.
func sealedSize(plain int) int {
	return (blockHead + plain + tagSize + sector - 1) / sector * sector
}

// sealBlock seals buf[blockHead:blockHead+b.length] in place and returns the block. buf has room for blockSize.
func sealBlock(a cipher.AEAD, b block, buf []byte) []byte {
	size := b.size()
	clear(buf[blockHead+b.length : size])
	length := uint32(b.length)
	if b.mark {
		length |= markBit
	}
	binary.BigEndian.PutUint32(buf[4:], length)
	binary.BigEndian.PutUint32(buf[8:], b.since)
	binary.BigEndian.PutUint32(buf[12:], b.number)
	rand.Read(buf[16:blockHead])
	binary.BigEndian.PutUint32(buf, crc32.Checksum(buf[4:blockHead], castagnoli))
	a.Seal(buf[blockHead:blockHead], buf[12:blockHead], buf[blockHead:size-tagSize], buf[4:12])
	return buf[:size]
}

// parseBlock reads the head of a block; ok reports whether its checksum matches.
func parseBlock(buf []byte) (b block, ok bool) {
	if len(buf) < blockHead || binary.BigEndian.Uint32(buf) != crc32.Checksum(buf[4:blockHead], castagnoli) {
		return b, false
	}
	length := binary.BigEndian.Uint32(buf[4:])
	b = block{number: binary.BigEndian.Uint32(buf[12:]), length: int(length &^ markBit), mark: length&markBit != 0,
		since: binary.BigEndian.Uint32(buf[8:])}
	return b, b.length <= blockPlain
}

// openBlock appends the plain text of a block to dst, which may overlap the ciphertext.
func openBlock(a cipher.AEAD, b block, buf, dst []byte) ([]byte, error) {
	at := len(dst)
	out, err := a.Open(dst, buf[12:blockHead], buf[blockHead:b.size()], buf[4:12])
	if err != nil {
		return nil, damaged(b.number)
	}
	return out[:at+b.length], nil
}

func damaged(number uint32) error { return fmt.Errorf("%w: block %d", ErrDamaged, number) }
