package home

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// SecretFile is the name of the file with the cluster secret, for a configuration without one.
const SecretFile = "cluster.secret"

// MinSecret is the minimum length of a cluster secret in characters. The secret protects the peer port, and may also
// be an admin token.
const MinSecret = 32

// NewSecret returns a random cluster secret.
func NewSecret() string {
	b := make([]byte, 32)
	rand.Read(b) // crypto/rand never fails
	return "ydb_cluster_" + hex.EncodeToString(b)
}

// CheckSecret rejects a weak secret. key names the source of the secret in the error.
func CheckSecret(key, secret string) error {
	if len(secret) >= MinSecret {
		return nil
	}
	return fmt.Errorf("%s: %d characters, and a secret has at least %d: `cairn cluster secret` makes one", key, len(secret), MinSecret)
}

// IdentityFile is the name of the file with the seed of the key that proves the node's identity, in hex.
const IdentityFile = "node.key"

// OpenIdentity returns the private key that identifies the node. The first start creates it.
func OpenIdentity(home string) (ed25519.PrivateKey, error) {
	key, err := ReadIdentity(home)
	if key != nil || err != nil {
		return key, err
	}
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails
	return ed25519.NewKeyFromSeed(seed), writeSecret(filepath.Join(home, IdentityFile), hex.EncodeToString(seed))
}

// ReadIdentity returns the key of a home; nil when it has none yet.
func ReadIdentity(home string) (ed25519.PrivateKey, error) {
	path := filepath.Join(home, IdentityFile)
	raw, err := readIfExists(path)
	if err != nil {
		return nil, fmt.Errorf("node key: %w", err)
	}
	if raw == nil {
		return nil, nil
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s is not a valid key: put back the one that this home had, or remove it, and the node makes another; a member of a cluster then needs an empty home", path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// OpenSecret returns the configured cluster secret, or else that of the home's file, which the first start creates. A
// node with peers does not create one, because its peers would not know it.
func OpenSecret(cfg Config) (string, error) {
	if cfg.Secret != "" {
		return cfg.Secret, nil // node.Config.Validate has checked it
	}
	path := filepath.Join(cfg.Dir, SecretFile)
	raw, err := readIfExists(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("cluster secret: %w", err)
	case raw != nil:
		secret := strings.TrimSpace(string(raw))
		return secret, CheckSecret(path, secret)
	case cfg.Peers:
		return "", fmt.Errorf("cluster_secret is required when there are peers, and is the same on all members: `cairn cluster secret` makes one, or copy %s of a member",
			SecretFile)
	}
	secret := NewSecret()
	return secret, writeSecret(path, secret)
}

// writeSecret writes a secret atomically.
func writeSecret(path, secret string) error {
	if err := syncwriter.Replace(path, []byte(secret+"\n"), 0o600); err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	return nil
}
