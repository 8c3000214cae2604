package home

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// loadKey reads the 32-byte seed of a key, or creates the file with a new key.
func loadKey(path string) (ed25519.PrivateKey, error) {
	seed, err := private.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		seed = make([]byte, ed25519.SeedSize)
		rand.Read(seed) // never fails
		return ed25519.NewKeyFromSeed(seed), syncwriter.Replace(path, seed, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s holds %d bytes, a key has %d", path, len(seed), ed25519.SeedSize)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// PeerKey returns the public key that this node gives to a peer. It is derived from the name and the node's own key,
// so that a node recognizes an enrolment that it has begun. The key only identifies the peer; it never signs
// anything.
func (h *Home) PeerKey(display string) (string, error) {
	seed, err := hkdf.Key(sha256.New, h.local.Seed(), nil, "cairn covenant peer "+display, ed25519.SeedSize)
	if err != nil {
		return "", err
	}
	return keyText(ed25519.NewKeyFromSeed(seed)), nil
}

// sealOperatorKey encrypts the operator's key for the replicated log. The encryption key is derived from the
// cluster's secret. Without a secret, it returns nil.
func sealOperatorKey(secret string, key ed25519.PrivateKey) ([]byte, error) {
	box, err := operatorCipher(secret)
	if box == nil || err != nil {
		return nil, err
	}
	return box.Seal(nil, nil, key.Seed(), key.Public().(ed25519.PublicKey)), nil
}

// openOperatorKey decrypts the operator's key. It returns nil if this node does not have the secret of the cluster.
func openOperatorKey(secret string, sealed []byte, public []byte) (ed25519.PrivateKey, error) {
	box, err := operatorCipher(secret)
	if box == nil || err != nil {
		return nil, err
	}
	seed, err := box.Open(nil, nil, sealed, public)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, nil
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func operatorCipher(secret string) (cipher.AEAD, error) {
	if secret == "" {
		return nil, nil
	}
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "cairn covenant operator key", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block) // the sealed bytes begin with the nonce
}
