package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/seal"
)

// A rotation encrypts the files under a replaced data key again, under the active one, while the node runs, and then
// drops the replaced key. The active key is fixed for the life of the process, so no file is being written under
// another key. A failed part starts again, in this process or the next. No part leaves incomplete files.
type rotation struct {
	left atomic.Pointer[[]rotationPart] // the remaining parts; nil on a node without a replaced key
}

func (r *rotation) setLeft(left []rotationPart) { r.left.Store(&left) }

// parts returns the names of the remaining parts.
func (r *rotation) parts() (names []string) {
	if left := r.left.Load(); left != nil {
		for _, p := range *left {
			names = append(names, p.name)
		}
	}
	return names
}

// The pauses of a rotation: after each megabyte, and before it retries failed parts.
const (
	rotationPause = 10 * time.Millisecond
	rotationRetry = 5 * time.Second
)

// rotationPart rewrites the files of one owner.
type rotationPart struct {
	name string
	do   func() error
}

func (n *Node) rotationParts(ctx context.Context) []rotationPart {
	rest := func() error { return pause.For(ctx, rotationPause) }
	return []rotationPart{
		{"log", n.raft.ResealLog},
		{"state", func() error { return n.state.Rewrite(ctx, rest) }},
		{"snapshots", func() error { return n.renewSnapshot(ctx, rest) }},
		{"index", func() error { return n.index.Rewrite(ctx, rest) }},
		{"files moved aside", n.checkNothingSetAside},
	}
}

// renewSnapshot replaces the snapshots, whose states share files with the state before it was rewritten.
func (n *Node) renewSnapshot(ctx context.Context, rest func() error) error {
	if err := n.state.Rewrite(ctx, rest); err != nil {
		return err
	}
	return n.raft.RenewSnapshot()
}

// rotate is the task that runs a rotation on a node with replaced keys.
func (n *Node) rotate(ctx context.Context) error {
	parts, start, logged := n.rotationParts(ctx), time.Now(), map[string]bool{}
	n.rotation.setLeft(parts)
	for len(parts) > 0 {
		parts = slices.DeleteFunc(slices.Clone(parts), func(p rotationPart) bool {
			err := p.do()
			if err != nil && ctx.Err() == nil && !logged[p.name] {
				logged[p.name] = true
				n.log.Info("files are still under a replaced data key", "part", p.name, "err", err)
			}
			return err == nil
		})
		n.rotation.setLeft(parts)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(parts) > 0 && pause.For(ctx, rotationRetry) != nil {
			return ctx.Err()
		}
	}
	switch err := n.keys.Retire(); {
	case errors.Is(err, seal.ErrRotated):
		n.log.Info("another data key was made meanwhile: the next start rewrites all files under it")
	case err != nil: // for example on a full disk; the next start tries again
		n.log.Error("replaced data keys are not removed", "err", err)
	default:
		n.log.Info("all files are under the active data key, replaced keys are removed", "active", n.keys.Active(),
			"took", time.Since(start))
	}
	return nil
}

// checkNothingSetAside returns an error while a file that was moved aside exists, so that its key is not dropped: an
// operator may want to read it.
func (n *Node) checkNothingSetAside() error {
	if aside := home.SetAsideNames(n.cfg.Home); len(aside) > 0 {
		return fmt.Errorf("%v: remove it when it is not needed any more", aside)
	}
	return nil
}
