package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"hash"
	"sync"
)

// Names seals parts of keys, so that equal names become equal bytes.
type Names struct {
	pool  sync.Pool // of *scratch
	block cipher.Block
}

// scratch is what sealing one name needs.
type scratch struct {
	mac     hash.Hash // keyed
	sum     [sha256.Size]byte
	ctr, ks [aes.BlockSize]byte
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
	return &Names{pool: sync.Pool{New: func() any { return &scratch{mac: hmac.New(sha256.New, mac[:])} }}, block: b}, nil
}

func (s *scratch) iv(label, name []byte) []byte {
	s.mac.Reset()
	s.ks[0] = byte(len(label)) // labels are short and fixed
	s.mac.Write(s.ks[:1])
	s.mac.Write(label)
	s.mac.Write(name)
	return s.mac.Sum(s.sum[:0])[:NameOverhead]
}

// crypt is AES-CTR from an IV; names are so short that making a cipher.Stream costs more than using it.
func (n *Names) crypt(s *scratch, iv, b []byte) {
	copy(s.ctr[:], iv)
	for len(b) > 0 {
		n.block.Encrypt(s.ks[:], s.ctr[:])
		k := subtle.XORBytes(b, b, s.ks[:])
		b = b[k:]
		for i := len(s.ctr) - 1; i >= 0; i-- {
			if s.ctr[i]++; s.ctr[i] != 0 {
				break
			}
		}
	}
}

// Seal appends a sealed name to dst. Labels keep equal names in different places apart.
func (n *Names) Seal(dst, name, label []byte) []byte {
	s := n.pool.Get().(*scratch)
	defer n.pool.Put(s)
	iv := s.iv(label, name)
	dst = append(append(dst, iv...), name...)
	n.crypt(s, iv, dst[len(dst)-len(name):])
	return dst
}

// Open appends the name to dst.
func (n *Names) Open(dst, sealed, label []byte) ([]byte, error) {
	if len(sealed) < NameOverhead {
		return nil, fmt.Errorf("%w: %d bytes are no sealed name", ErrDamaged, len(sealed))
	}
	s := n.pool.Get().(*scratch)
	defer n.pool.Put(s)
	at := len(dst)
	dst = append(dst, sealed[NameOverhead:]...)
	n.crypt(s, sealed[:NameOverhead], dst[at:])
	if !hmac.Equal(s.iv(label, dst[at:]), sealed[:NameOverhead]) {
		return nil, fmt.Errorf("%w: a name does not authenticate", ErrDamaged)
	}
	return dst, nil
}
