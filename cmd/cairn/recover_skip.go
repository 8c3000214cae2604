package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
)

func (a *app) recover() *cobra.Command {
	var path, home, digest string
	var index uint64
	c := &cobra.Command{
		Use: "recover [--config FILE | --home DIR] --skip-record N", Short: "When every node stops at one record of the log: skip it, on all of them alike", Args: cobra.NoArgs,
		Long: `A record of the log that a fault of Cairn's cannot apply stops every node, and again after each start: "cannot apply record N".
This has the node, which must be stopped, pass over that record. What its entries would have written is lost, acknowledged or not.

  cairn recover --config FILE --skip-record N                  says what the record is and why it cannot be applied; changes nothing
  cairn recover --config FILE --skip-record N --sha256 DIGEST  skips the record that has this digest

A newer version may apply it: try that first. Run it on every node before you start any, with the same digest: a node that skips
another record, or none, holds another state, and "cairn cluster status" says so. The skip is in the audit ("cairn audit"), and in the
file skipped-records of the home, which has to stay. Members that join later need the file until the others have a snapshot behind
the record. See deploy/runbooks/poisoned-record.md.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if index == 0 {
				return usageError{hinted{errors.New("recover needs --skip-record N"), "a node that stops at a record names it: \"cannot apply record N\"; for a lost majority see `cairn cluster recover --help`"}}
			}
			return a.skipRecord(path, home, oplog.Index(index), strings.ToLower(digest))
		},
	}
	c.Flags().StringVarP(&path, "config", "c", "", "configuration of the node")
	c.Flags().StringVar(&home, "home", defaultHome, "home of a dev node, when there is no configuration")
	c.Flags().Uint64Var(&index, "skip-record", 0, "the index of the record that every node stops at")
	c.Flags().StringVar(&digest, "sha256", "", "digest of the record, as the same command prints it without this flag")
	return c
}

func (a *app) skipRecord(path, home string, at oplog.Index, digest string) error {
	cfg, err := a.offlineConfig(path, home)
	if err != nil {
		return err
	}
	u, err := node.FindUnapplied(cfg, at)
	switch {
	case errors.Is(err, oplog.ErrHeld):
		return hinted{err, "the node is running: it does not stop at this record, or has not yet; stop it first"}
	case errors.Is(err, node.ErrApplies):
		return hinted{err, "nothing is to be skipped: start the node"}
	case errors.Is(err, raft.ErrNoRecord):
		return hinted{err, "the node's own log says which record it stops at: \"cannot apply record N\""}
	case err != nil:
		return keyHint(err, "")
	}
	fmt.Fprintf(a.err, "record %d: %d bytes, sha256 %s\ncannot be applied: %v\n", u.Index, u.Bytes, u.Digest, u.Fault)
	switch digest {
	case "":
		return hinted{errors.New("nothing was changed"), fmt.Sprintf("compare the digest on all nodes; then, on each: --skip-record %d --sha256 %s", at, u.Digest)}
	case u.Digest.String():
	default:
		return fmt.Errorf("record %d of this node is not the one with digest %s: nothing was changed", at, digest)
	}
	if err := node.SkipRecord(cfg, u); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "record %d will be skipped when this node starts\n", at)
	fmt.Fprintf(a.err, "next: the same on every other node, then start them\n")
	return nil
}
