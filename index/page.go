package index

import (
	"context"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Bounds of one page, in memories and in bytes. Analysis takes about ten times a memory's bytes, and one batch of the
// log may touch any number of memories, so the bytes are bounded as well.
const (
	pageRows  = 1000
	pageBytes = 2 << 20
)

// A page gathers memories that are to be put into a database, in the order of their sequence numbers.
type page struct {
	x       *Index
	db      *database
	changes []change
	bytes   int
	total   int // put so far
}

// add gathers a memory, and flushes when the page is full.
func (p *page) add(ctx context.Context, m *oplog.Memory, vec oplog.Vector) error {
	p.changes = append(p.changes, change{m, vec})
	p.bytes += len(m.Text) + len(m.Metadata) + len(m.Attributes) + len(vec)
	if len(p.changes) < pageRows && p.bytes < pageBytes {
		return nil
	}
	return p.flush(ctx)
}

// read gathers a memory as Apply wrote it.
func (p *page) read(ctx context.Context, v *state.View, id oplog.DB, seq oplog.Seq) error {
	m, ok := v.StoredMemoryAt(id, seq)
	if !ok {
		return nil
	}
	return p.add(ctx, m, v.Vector(id, seq))
}

// flush puts the gathered memories.
func (p *page) flush(ctx context.Context) error {
	if len(p.changes) == 0 {
		return nil
	}
	p.total += len(p.changes)
	for _, c := range p.changes { // also of one that has no row, as it was forgotten in the same batch: the state has its names
		for _, name := range c.m.Entities {
			p.db.names.entity(name)
		}
	}
	if !p.db.memory {
		p.x.checkpoints.changes.Add(int64(len(p.changes)))
	}
	err := p.db.put(ctx, p.changes)
	clear(p.changes)
	p.changes, p.bytes = p.changes[:0], 0
	return err
}
