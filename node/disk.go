package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// DefaultMinFree is the space below which a node takes no writes: room for what is under way, for the log's and the
// state's own growth, and for the votes that keep a cluster going.
const DefaultMinFree = 64 << 20

const (
	spaceCheck = 250 * time.Millisecond
	handAway   = 10 * time.Second // between two attempts to give leadership to a node with room
)

// space watches the room on the disks below a home. A full disk is no reason to stop: writes are refused before they
// reach the log, reads go on, and what had been agreed on meanwhile waits until there is room again.
type space struct {
	dirs []string
	min  uint64
	log  *slog.Logger
	free atomic.Uint64
	full atomic.Bool

	reserved atomic.Uint64 // room that writes are to leave as well: for the file that this start had to remove; see reserve.go
}

func newSpace(home string, least uint64, log *slog.Logger) *space {
	s := &space{dirs: []string{home, filepath.Join(home, "raft"), filepath.Join(home, "index")}, min: least, log: log}
	s.look()
	return s
}

// look measures the least room there is.
func (s *space) look() {
	free := ^uint64(0)
	for _, dir := range s.dirs {
		if room, err := freeOn(dir); err == nil { // a folder that is not there yet is on its parent's disk
			free = min(free, room)
		}
	}
	s.free.Store(free)
	if full := free < s.least(); full != s.full.Swap(full) {
		if full {
			s.log.Error("disk full, writes are refused", "free_bytes", free, "min_free_bytes", s.least(), "home", s.dirs[0], "may_be_removed", Removable(s.dirs[0]))
		} else {
			s.log.Info("disk has room again, writes are taken", "free_bytes", free)
		}
	}
}

// least is the room below which writes are refused.
func (s *space) least() uint64 { return s.min + s.reserved.Load() }

// refusal is why writes are refused; nil while there is room.
func (s *space) refusal() error {
	if !s.full.Load() {
		return nil
	}
	return oplog.Errorf(oplog.Unavailable, "disk full: %d MiB free where %d are needed; reads go on, and writes when there is room",
		s.free.Load()>>20, s.least()>>20)
}

// lacks says whether an error came from a disk without room: by what the system said, or, where a library did not pass
// that on, because there is no room.
func (s *space) lacks(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	s.look()
	return s.free.Load() < 1<<20
}

// wait pauses until it is worth trying again; false when stop is closed first.
func (s *space) wait(stop <-chan struct{}) bool {
	t := time.NewTimer(spaceCheck)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stop:
		return false
	}
}

// watchSpace is the task that keeps the measure current, and gives leadership away while this node can use it for nothing.
func (n *Node) watchSpace(ctx context.Context) error {
	tick := time.NewTicker(spaceCheck)
	defer tick.Stop()
	var tried time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		n.service.disk.look()
		n.service.disk.keepReserve()
		n.service.backups.expire(n.log)
		if n.service.disk.full.Load() && n.machine.leads() && len(n.raft.Status().Members) > 1 && time.Since(tried) > handAway {
			tried = time.Now()
			if _, err := n.raft.Change(ctx, wire.Membership{Action: "transfer"}); err != nil {
				n.log.Warn("leadership stays on a full disk", "err", err)
			}
		}
	}
}

// applyPatiently applies a batch, and waits while the disk has no room: it is agreed on, so it will be applied. ok is
// false when the node stops first, for whatever reason; the log brings the batch again at the next start.
func (m *machine) applyPatiently(records []oplog.Record) (out []oplog.Outcome, ok bool) {
	for waited := false; ; waited = true {
		out, err := m.state.Apply(records)
		if err == nil {
			if waited {
				m.log.Info("disk has room again, applied what waited", "index", records[len(records)-1].Index)
			}
			return out, true
		}
		if !m.disk.lacks(err) {
			m.log.Error("cannot apply, this node stops", "index", records[0].Index, "err", err)
			m.fail(fmt.Errorf("cannot apply record %d and those behind it: %w", records[0].Index, err))
			<-m.stop
			return nil, false
		}
		if !waited {
			m.log.Error("disk full, what is agreed on waits", "index", records[0].Index, "err", err)
		}
		if !m.disk.wait(m.stop) {
			return nil, false
		}
	}
}
