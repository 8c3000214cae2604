package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"sync"
)

// Names seals parts of keys, so that equal names become equal bytes.
type Names struct {
	macs  sync.Pool // of hash.Hash, keyed
	block cipher.Block
}

// NameOverhead is by how much a name grows.
const NameOverhead = 16

// Names gives the names of a data key.
func (r *Ring) Names(id KeyID) (*Names, error) {
	k, err := r.find(id)
	if err != nil {
		return nil, err
	}
	derive := func(purpose string) (out [keySize]byte) {
		h := hmac.New(sha256.New, k.key[:])
		h.Write([]byte(purpose))
		h.Sum(out[:0])
		return out
	}
	enc := derive("cairn names: encryption")
	b, err := aes.NewCipher(enc[:])
	if err != nil {
		return nil, err
	}
	mac := derive("cairn names: synthetic iv")
	return &Names{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, mac[:]) }}, block: b}, nil
}

func (n *Names) iv(label, name []byte) (iv [NameOverhead]byte) {
	h := n.macs.Get().(hash.Hash)
	defer n.macs.Put(h)
	h.Reset()
	h.Write([]byte{byte(len(label))}) // labels are short and fixed
	h.Write(label)
	h.Write(name)
	var sum [sha256.Size]byte
	copy(iv[:], h.Sum(sum[:0]))
	return iv
}

// Seal appends a sealed name to dst. Labels keep equal names in different places apart.
func (n *Names) Seal(dst, name, label []byte) []byte {
	iv := n.iv(label, name)
	dst = append(dst, iv[:]...)
	at := len(dst)
	dst = append(dst, name...)
	cipher.NewCTR(n.block, iv[:]).XORKeyStream(dst[at:], dst[at:])
	return dst
}

// Open appends the name to dst.
func (n *Names) Open(dst, sealed, label []byte) ([]byte, error) {
	if len(sealed) < NameOverhead {
		return nil, fmt.Errorf("%w: %d bytes are no sealed name", ErrDamaged, len(sealed))
	}
	iv := [NameOverhead]byte(sealed)
	at := len(dst)
	dst = append(dst, sealed[NameOverhead:]...)
	cipher.NewCTR(n.block, iv[:]).XORKeyStream(dst[at:], dst[at:])
	if want := n.iv(label, dst[at:]); !hmac.Equal(want[:], iv[:]) {
		return nil, fmt.Errorf("%w: a name does not authenticate", ErrDamaged)
	}
	return dst, nil
}
