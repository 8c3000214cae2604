package home

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/syncwriter"
	"github.com/cairndb/cairn/raft"
)

// Kept is a file of another surface of this host that is sealed with the node's keys, as a whole or line by line.
type Kept struct {
	Path  string
	Place string // the associated data of its lines; empty if the file is sealed as a whole
}

// The new files of a home are written to their own directory, which is marked when it is complete. From then on they
// replace the old ones, and an interrupted change continues there when the command is repeated.
const (
	rekeyDir   = ".rekey"
	rekeyReady = "whole"
)

// errRekey rejects a start while the home has both old and new files.
var errRekey = errors.New("a change of its encryption was cut short; the same `cairn key` command finishes it")

// Encrypt encrypts the home of a stopped node and the files of the other surfaces. If the home is already encrypted,
// it encrypts only the latter.
func Encrypt(ctx context.Context, cfg Config) error {
	if !cfg.Encryption.Enabled() {
		return fmt.Errorf("%w: no master key is configured", seal.ErrKey)
	}
	masters, err := cfg.Encryption.Masters(ctx)
	if err != nil {
		return err
	}
	work := filepath.Join(cfg.Dir, rekeyDir)
	_, undone := os.Stat(filepath.Join(work, rekeyReady))
	if undone != nil && !seal.Exists(cfg.Dir) { // in an encrypted home, files of other surfaces may still be plain
		if err := checkRing(cfg.Dir); err != nil {
			return err
		}
		if err := convert(cfg, work, masters); err != nil {
			return err
		}
	}
	return finishRekey(cfg, work, masters)
}

// convert writes the encrypted files into a work directory. It holds the lock of the state, so no node runs in the
// home.
func convert(cfg Config, work string, masters []seal.Master) error {
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o700)); err != nil {
		return err
	}
	keys, err := seal.Create(work, masters)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, StateDir)); err != nil {
		return fmt.Errorf("home %s has no state: %w", cfg.Dir, err)
	}
	st, err := state.Open(filepath.Join(cfg.Dir, StateDir), state.Options{})
	if err != nil {
		return err
	}
	err = st.Copy(filepath.Join(work, StateDir), state.Options{Keys: keys})
	if err == nil {
		err = raft.Convert(filepath.Join(cfg.Dir, "raft"), filepath.Join(work, "raft"), keys, commit.Offline{State: st})
	}
	if err = errors.Join(err, st.Close()); err != nil {
		return err
	}
	return syncwriter.Replace(filepath.Join(work, rekeyReady), nil, 0o600)
}

// finishRekey replaces the old files with the new ones. It is idempotent.
func finishRekey(cfg Config, work string, masters []seal.Master) error {
	if err := requireStopped(cfg.Dir); err != nil {
		return err
	}
	if err := placeFiles(cfg.Dir, work); err != nil {
		return err
	}
	keys, _, err := seal.Open(cfg.Dir, masters)
	if err != nil {
		return err
	}
	if err := RewriteKept(cfg, keys); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(work), syncwriter.Dir(cfg.Dir))
}

// placeFiles moves the new files from a directory into the home, and removes files that are derived from the old
// ones. It is idempotent.
func placeFiles(home, work string) error {
	for _, name := range []string{seal.RingFile, StateDir, filepath.Join("raft", "log"), filepath.Join("raft", "snapshots")} {
		from, to := filepath.Join(work, name), filepath.Join(home, name)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if name != seal.RingFile {
			if err := os.RemoveAll(to); err != nil {
				return err
			}
		}
		if err := errors.Join(os.Rename(from, to), syncwriter.Dir(filepath.Dir(to))); err != nil {
			return err
		}
	}
	for _, derived := range []string{"index", "backup-spool"} {
		if err := os.RemoveAll(filepath.Join(home, derived)); err != nil {
			return err
		}
	}
	return nil
}

// Locked reports whether a process has the state of a home open: a running node, or a command.
func Locked(home string) bool { return requireStopped(home) != nil }

// requireStopped returns an error while a process has the state open.
func requireStopped(home string) error {
	if dir := filepath.Join(home, StateDir); state.Locked(dir) {
		return fmt.Errorf("state %s: %w", dir, state.ErrLocked)
	}
	return nil
}

// RewriteKept seals the files of the other surfaces again. No surface may have them open.
func RewriteKept(cfg Config, keys *seal.Ring) error {
	if cfg.Kept == nil {
		return nil
	}
	kept, err := cfg.Kept(keys)
	if err != nil {
		return err
	}
	for _, k := range kept {
		if err := k.rewrite(keys); err != nil {
			return fmt.Errorf("%s: %w", k.Path, err)
		}
	}
	return nil
}

// rewrite seals a file under the active key, whether it is sealed or plain. It does not create a missing file.
func (k Kept) rewrite(keys *seal.Ring) error {
	raw, err := os.ReadFile(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var out []byte
	if k.Place == "" {
		plain := raw
		if seal.IsSealed(raw) {
			if plain, err = keys.Plain(raw); err != nil {
				return err
			}
		}
		out = keys.Bytes(plain)
	} else {
		for line := range bytes.Lines(raw) {
			body, whole := bytes.CutSuffix(line, []byte("\n"))
			if !whole {
				break // an incomplete last line, which the next opening drops
			}
			plain := body
			if len(body) > 0 && body[0] != '{' { // a sealed line is base64
				if plain, err = keys.OpenLine(body, k.Place); err != nil {
					return err
				}
			}
			out = append(append(out, keys.Line(plain, k.Place)...), '\n')
		}
	}
	info, err := os.Stat(k.Path)
	if err != nil {
		return err
	}
	return syncwriter.Replace(k.Path, out, info.Mode().Perm())
}
