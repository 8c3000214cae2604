package main

import (
	"errors"
	"fmt"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

func (a *app) skipRecord(path, dir string, at oplog.Index, digest string) error {
	cfg, err := a.offlineConfig(path, dir)
	if err != nil {
		return err
	}
	u, err := home.FindUnapplied(cfg.Files(), at)
	switch {
	case errors.Is(err, state.ErrLocked):
		return cli.Hint(err, "the node is running: it does not stop at this record, or has not yet; stop it first")
	case errors.Is(err, home.ErrApplies):
		return cli.Hint(err, "nothing is to be skipped: start the node")
	case errors.Is(err, raft.ErrNoRecord):
		return cli.Hint(err, "the node's own log says which record it stops at: \"cannot apply record N\"")
	case err != nil:
		return config.KeyHint(err, "")
	}
	fmt.Fprintf(a.Err, "record %d: %d bytes, sha256 %s\ncannot be applied: %v\n", u.Index, u.Bytes, u.Digest, u.Fault)
	switch digest {
	case "":
		return cli.Hint(errors.New("nothing was changed"), fmt.Sprintf("compare the digest on all nodes; then, on each: --skip-record %d --sha256 %s", at, u.Digest))
	case u.Digest.String():
	default:
		return fmt.Errorf("record %d of this node is not the one with digest %s: nothing was changed", at, digest)
	}
	if err := home.SkipRecord(cfg.Files(), u); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "record %d will be skipped when this node starts\n", at)
	fmt.Fprintf(a.Err, "next: the same on every other node, then start them\n")
	return nil
}
