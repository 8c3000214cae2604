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

// A rotation brings what a node keeps under a replaced data key under the active one, while the node runs, and then
// drops the replaced key. The active key is that of the process for its life, so no file under another is being
// written. Each part is begun again after a failure, and by the next process: none leaves half a file.
type rotation struct {
	left atomic.Pointer[[]rotationPart] // the parts that are not done; nil on a node that has no replaced key
}

func (r *rotation) tell(left []rotationPart) { r.left.Store(&left) }

// parts names the parts that are not done.
func (r *rotation) parts() (names []string) {
	if left := r.left.Load(); left != nil {
		for _, p := range *left {
			names = append(names, p.name)
		}
	}
	return names
}

// A rotation rests so long after each megabyte, and so long before it begins again what failed.
const (
	rotationRest  = 10 * time.Millisecond
	rotationAgain = 5 * time.Second
)

// rotationPart rewrites the files of one owner.
type rotationPart struct {
	name string
	do   func() error
}

func (n *Node) rotationParts(ctx context.Context) []rotationPart {
	breath := func() error { return pause.For(ctx, rotationRest) }
	return []rotationPart{
		{"log", n.raft.ResealLog},
		{"state", func() error { return n.state.Rewrite(ctx, breath) }},
		{"snapshots", func() error { return n.renewSnapshot(ctx, breath) }},
		{"index", func() error { return n.index.Rewrite(ctx, breath) }},
		{"files moved aside", n.noneAside},
	}
}

// renewSnapshot replaces the snapshots: their states share files with the state as it was before it was rewritten.
func (n *Node) renewSnapshot(ctx context.Context, breath func() error) error {
	if err := n.state.Rewrite(ctx, breath); err != nil {
		return err
	}
	return n.raft.RenewSnapshot()
}

// rotate is the task that runs a rotation, on a node that has replaced keys.
func (n *Node) rotate(ctx context.Context) error {
	parts, start, told := n.rotationParts(ctx), time.Now(), map[string]bool{}
	n.rotation.tell(parts)
	for len(parts) > 0 {
		parts = slices.DeleteFunc(slices.Clone(parts), func(p rotationPart) bool {
			err := p.do()
			if err != nil && ctx.Err() == nil && !told[p.name] {
				told[p.name] = true
				n.log.Info("files are still under a replaced data key", "part", p.name, "err", err)
			}
			return err == nil
		})
		n.rotation.tell(parts)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(parts) > 0 && pause.For(ctx, rotationAgain) != nil {
			return ctx.Err()
		}
	}
	switch err := n.keys.Retire(); {
	case errors.Is(err, seal.ErrRotated):
		n.log.Info("another data key was made meanwhile: the next start rewrites all files under it")
	case err != nil: // a disk that is full: the next start tries again
		n.log.Error("replaced data keys are not removed", "err", err)
	default:
		n.log.Info("all files are under the active data key, replaced keys are removed", "active", n.keys.Active(),
			"took", time.Since(start))
	}
	return nil
}

// noneAside refuses to drop a key while a file that was moved aside exists: an operator may want to read it, and needs
// the key.
func (n *Node) noneAside() error {
	if aside := home.SetAsides(n.cfg.Home); len(aside) > 0 {
		return fmt.Errorf("%v: remove it when it is not needed any more", aside)
	}
	return nil
}
