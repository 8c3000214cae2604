package node

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/wire"
)

// transferEvery is the least time between two attempts to transfer leadership to a node with free space.
const transferEvery = 10 * time.Second

// watchSpace is the task that measures the free space, and transfers leadership away while this node accepts no
// writes for lack of space.
func (n *Node) watchSpace(ctx context.Context) error {
	var tried time.Time
	for range pause.Ticks(ctx.Done(), disk.CheckEvery) {
		n.disk.Waits(n.state.Full())
		n.disk.Measure()
		n.disk.KeepReserve()
		n.service.Backups().Expire()
		if n.disk.Full() && n.commit.Leads() && len(n.raft.Status().Members) > 1 && time.Since(tried) > transferEvery {
			tried = time.Now()
			if _, err := n.raft.Change(ctx, wire.Membership{Action: "transfer"}); err != nil {
				n.log.Warn("disk full, and leadership is not transferred", "err", err)
			}
		}
	}
	return ctx.Err()
}
