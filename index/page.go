package index

import (
	"context"

	"github.com/cairndb/cairn/oplog"
)

// How much is read of the state before it is put: in memories, and in bytes of them. A memory of a few kilobytes has ten times as many
// while it is analysed, and a batch of the log may touch any number.
const (
	pageRows  = 1000
	pageBytes = 2 << 20
)

// A page gathers memories on their way into a database. They come in the order of their numbers.
type page struct {
	x       *Index
	db      *database
	changes []change
	bytes   int
	total   int // put so far
}

// add takes a memory, and puts all that were gathered when they are many.
func (p *page) add(ctx context.Context, m *oplog.Memory, vec oplog.Vector) error {
	p.changes = append(p.changes, change{m, vec})
	p.bytes += len(m.Text) + len(m.Metadata) + len(vec)
	if len(p.changes) < pageRows && p.bytes < pageBytes {
		return nil
	}
	return p.flush(ctx)
}

// flush puts what is left.
func (p *page) flush(ctx context.Context) error {
	if len(p.changes) == 0 {
		return nil
	}
	p.total += len(p.changes)
	p.x.keeper.changes += len(p.changes)
	err := p.db.put(ctx, p.changes)
	clear(p.changes)
	p.changes, p.bytes = p.changes[:0], 0
	return err
}
