package home

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairndb/cairn/oplog/seal"
)

// OpenKeys opens the keyring of a home. It returns nil for a home without encryption, and creates the keyring of a
// new home that is to be encrypted. It rejects a mismatch of home and configuration before it changes any file.
func OpenKeys(ctx context.Context, cfg Config) (*seal.Ring, error) {
	if _, err := os.Lstat(filepath.Join(cfg.Dir, rekeyDir, rekeyReady)); err == nil {
		return nil, fmt.Errorf("home %s: %w", cfg.Dir, errRekey)
	}
	has := seal.Exists(cfg.Dir)
	if err := checkRing(cfg.Dir); err != nil {
		return nil, err
	}
	if !cfg.Encryption.Enabled() {
		if has {
			return nil, fmt.Errorf("home %s is %w", cfg.Dir, seal.ErrSealed)
		}
		return nil, nil
	}
	masters, err := cfg.Encryption.Masters(ctx)
	if err != nil {
		return nil, err
	}
	if !has {
		if err := requireEmpty(cfg.Dir); err != nil {
			return nil, err
		}
		return seal.Create(cfg.Dir, masters)
	}
	keys, rotated, err := seal.Open(cfg.Dir, masters)
	if rotated && err == nil {
		cfg.Logger.Info("data keys wrapped by a new master key, and a new one made", "master", masters[0].ID(), "active", keys.Active())
	}
	return keys, err
}

// checkRing returns an error if a home has encrypted files and no keyring: without it no master key opens them.
func checkRing(home string) error {
	if seal.Exists(home) {
		return nil
	}
	files := []string{filepath.Join(home, "raft", "log", "meta")}
	manifests, err := filepath.Glob(filepath.Join(home, StateDir, "*", "MANIFEST-*"))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(append(files, manifests...), isSealed) {
		return fmt.Errorf("home %s is encrypted: %w", home, seal.ErrKeyring)
	}
	return nil
}

// isSealed reports whether a file is encrypted, as far as it can be read.
func isSealed(path string) bool {
	head, err := os.ReadFile(path)
	return err == nil && seal.IsSealed(head)
}

// requireEmpty returns an error if a home without a keyring has data.
func requireEmpty(home string) error {
	for _, name := range []string{StateDir, filepath.Join("raft", "log")} {
		if _, err := os.Lstat(filepath.Join(home, name)); err == nil {
			return fmt.Errorf("home %s holds data and has no keyring: it is %w", home, seal.ErrPlain)
		}
	}
	return nil
}
