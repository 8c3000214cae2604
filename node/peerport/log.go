package peerport

import (
	"encoding/binary"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A log is the log of a database in the form that peers get.
type log struct {
	v     *state.View
	db    oplog.DB
	actor uuid.UUID // stands for the database as the origin of what its own clients wrote, and differs from all others
}

func logOf(v *state.View, db oplog.DB) *log {
	cluster, _ := uuid.Parse(v.Cluster()) // each cluster made one
	return &log{v, db, uuid.NewSHA1(cluster, binary.BigEndian.AppendUint32(nil, uint32(db)))}
}

// Bits of an operation's id, behind 48 of the milliseconds: version 7, 12 of the actor, variant 2, 30 of the logical
// time, 12 of the actor again, and the operation's place in its entry. An entry has fewer than 2^placeBits operations.
const (
	placeBits   = 20
	logicalMask = 1<<30 - 1
	markMask    = 1<<12 - 1
)

// id names an applied operation for ever, other than any operation of another log: a UUID whose order is the log's.
func (l *log) id(h oplog.HLC, n int) string {
	mark := binary.BigEndian.Uint32(l.actor[:4])
	var b uuid.UUID
	binary.BigEndian.PutUint64(b[:8], h.Millis()<<16|7<<12|uint64(mark&markMask))
	binary.BigEndian.PutUint32(b[8:12], 2<<30|h.Logical()&logicalMask)
	binary.BigEndian.PutUint32(b[12:], mark>>placeBits<<placeBits|uint32(n))
	return b.String()
}

// made returns the time in an id that id made; ok is false for other ids. The node that stamped it is not in the id.
func (l *log) made(id string) (h oplog.HLC, ok bool) {
	b, err := uuid.Parse(id)
	if err != nil {
		return h, false
	}
	h = oplog.MakeHLC(binary.BigEndian.Uint64(b[:8])>>16, binary.BigEndian.Uint32(b[8:12])&logicalMask, 0)
	return h, l.id(h, int(binary.BigEndian.Uint32(b[12:])&(1<<placeBits-1))) == id
}

// place returns the place in an entry of the operation with an id, -1 for none. What other clusters pushed has ids in
// any order, so the order of ids does not say what follows it.
func (l *log) place(o oplog.Outcome, id string) int {
	for i := len(o.Entry.Ops) - 1; i >= 0; i-- {
		own := l.id(o.HLC, i)
		if f, ok := o.Entry.Ops[i].(*oplog.Foreign); ok {
			own = f.OpID
		}
		if own == id {
			return i
		}
	}
	return -1
}

// timeOf finds the entry that has the operation with an id. The log is read up to it where the id is not of this log's
// making.
func (l *log) timeOf(id string) (at oplog.HLC, err error) {
	h, own := l.made(id)
	if !own && !l.v.Pushed(l.db, id) {
		return at, errSnapshotRequired
	}
	found := false
	err = l.v.Log(l.v.SeekHLC(h), func(o oplog.Outcome) bool {
		at, found = o.HLC, o.Entry.DB == l.db && l.place(o, id) >= 0
		return !found && !(own && h.Millis() < o.HLC.Millis())
	})
	if err == nil && !found {
		err = errSnapshotRequired
	}
	return at, err
}

// knows reports whether an operation that a peer pushes is in the log: it was pushed before, or is of this log's
// making and comes back. One that has left the window is taken for known.
func (l *log) knows(id string) (bool, error) {
	h, own := l.made(id)
	if !own {
		return l.v.Pushed(l.db, id), nil
	}
	if gone, ok := l.v.TrimmedIn(l.db); ok && !gone.Less(h) {
		return true, nil
	}
	_, err := l.timeOf(id)
	if err == errSnapshotRequired {
		return l.v.Pushed(l.db, id), nil
	}
	return true, err
}
