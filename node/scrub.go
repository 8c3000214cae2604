package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/boltfile"
	"github.com/cairndb/cairn/raft"
)

// scrubRest is between two steps of a scrub: what it costs is a few hundredths of a processor.
const scrubRest = 10 * time.Millisecond

// healWait is between two looks at whether the others can heal this node.
const healWait = time.Second

// Files in the home that say what the next start is to think of the state.
const (
	damageFile  = "damaged" // it holds something else than was written, and is to be moved aside
	suspectFile = "suspect" // something in it could not be read, and it is to be counted first
)

// scrub is the task that goes through the state at the start and every now and then, and counts whether it still holds
// what was written. A member of a cluster that finds damage stops: at the next start it moves state and log aside, and is
// made whole by the others like one that lost its disk. It does so only while the others hold what was written, and are
// enough without it: what all of them find at once is no broken disk, and must cost nobody his state. Until then, and
// where a node is alone, it says what it found and goes on.
func (n *Node) scrub(ctx context.Context) error {
	for {
		start := time.Now()
		err := n.state.Scrub(ctx, scrubRest)
		wait := n.cfg.ScrubEvery
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, oplog.ErrState):
			n.service.whole.Store(false)
			n.service.damaged.Add(1)
			n.log.Error("the state on disk is damaged", "err", err)
			if n.healable(ctx) {
				return errors.Join(fmt.Errorf("the state is damaged; the next start heals it: %w", err), n.leaveWord(damageFile, err))
			}
			n.log.Error("the others cannot heal the state now; alone, restore a backup")
			wait = min(wait, healWait)
		case err != nil:
			n.log.Warn("the state could not be counted", "err", err)
		default:
			n.service.whole.Store(true)
			n.log.Debug("the state holds what was written", "took", time.Since(start))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// healable says whether enough other voters are there, hold what was written, and can go on without this node.
func (n *Node) healable(ctx context.Context) bool {
	st := n.service.Status(ctx)
	whole := 0
	for _, p := range st.Peers {
		if p.Voter && p.Reachable && p.whole {
			whole++
		}
	}
	return whole > 0 && whole >= st.QuorumSize
}

func (n *Node) leaveWord(name string, why error) error {
	f, err := os.OpenFile(filepath.Join(n.cfg.Home, name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, why)
	return errors.Join(err, f.Sync(), f.Close())
}

// replace moves aside what an earlier run found damaged. The log goes too: snapshots beside it may have the damage in
// them, and a member without its log asks the others for everything.
func (n *Node) replace(state string, opts oplog.Options) error {
	bad, err := n.condemned(state, opts)
	if err != nil || !bad {
		return err
	}
	log, err := raft.Discard(filepath.Join(n.cfg.Home, "raft"))
	if err != nil {
		return err
	}
	aside := fmt.Sprintf("%s.corrupt-%d", state, time.Now().Unix())
	if err := boltfile.SetAside(state, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	n.log.Error("state damaged, moved aside with its log", "path", state, "aside", aside, "log", log)
	return n.forgive()
}

// condemned says whether the state is to be moved aside: a scrub said so, or it could not be read where it was needed, by
// a node that has others, and counting it says why.
func (n *Node) condemned(state string, opts oplog.Options) (bad bool, err error) {
	if _, err := os.Stat(filepath.Join(n.cfg.Home, damageFile)); err == nil {
		return true, nil
	}
	if _, err := os.Stat(filepath.Join(n.cfg.Home, suspectFile)); err != nil || len(n.cfg.Peers) == 0 {
		return false, nil
	}
	s, err := oplog.Open(state, opts)
	if err != nil {
		return false, nil // whoever opens it next finds out
	}
	err = errors.Join(s.Verify(), s.Close())
	if bad = errors.Is(err, oplog.ErrState); bad {
		return true, nil
	}
	n.log.Warn("a state that could not be read holds what was written", "err", err)
	return false, n.forgive()
}

func (n *Node) forgive() error {
	for _, name := range []string{damageFile, suspectFile} {
		if err := os.Remove(filepath.Join(n.cfg.Home, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
