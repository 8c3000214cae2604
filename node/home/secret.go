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

// SecretFile names the file in a home that holds the cluster secret when the configuration has none.
const SecretFile = "cluster.secret"

// MinSecret is the least length of a cluster secret in characters: it opens the peer port, and where the configuration
// says so it is an admin token.
const MinSecret = 32

// NewSecret makes a cluster secret.
func NewSecret() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return "ydb_cluster_" + hex.EncodeToString(b)
}

// CheckSecret rejects a secret that could be guessed. key says where it comes from.
func CheckSecret(key, secret string) error {
	if len(secret) >= MinSecret {
		return nil
	}
	return fmt.Errorf("%s: %d characters, and a secret has at least %d: `cairn cluster secret` makes one", key, len(secret), MinSecret)
}

// identityFile names the file in a home that holds the key which proves which node it is: the key's seed, in hex.
const identityFile = "node.key"

// OpenIdentity is the key of a home, which is made at the first start.
func OpenIdentity(home string) (ed25519.PrivateKey, error) {
	path := filepath.Join(home, identityFile)
	raw, err := readIfThere(path)
	if err != nil {
		return nil, fmt.Errorf("node key: %w", err)
	}
	if raw == nil {
		seed := make([]byte, ed25519.SeedSize)
		rand.Read(seed) // never fails
		return ed25519.NewKeyFromSeed(seed), writeSecret(path, hex.EncodeToString(seed))
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s is not a valid key: put back the one that this home had, or remove it, and the node makes another; a member of a cluster then needs an empty home", path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// OpenSecret is the cluster secret of a home: the configured one, else that of the home's file, which is made at the
// first start. A node with peers does not make one, for its peers would not know it.
func OpenSecret(cfg Config) (string, error) {
	if cfg.Secret != "" {
		return cfg.Secret, nil // validate has looked at it
	}
	path := filepath.Join(cfg.Dir, SecretFile)
	raw, err := readIfThere(path)
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

// writeSecret puts a secret on disk, whole or not at all.
func writeSecret(path, secret string) error {
	if err := syncwriter.Replace(path, []byte(secret+"\n"), 0o600); err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	return nil
}
