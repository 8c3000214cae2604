package engine

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/large"
)

// errManyAnswers rejects an answer for which the byte budget has no room.
var errManyAnswers = oplog.Errorf(oplog.Unavailable, "too many large answers at once; retry")

// room counts the rows of an answer, and takes the bytes that they need from the budget.
type room struct {
	hold *large.Hold
	used int
	full bool // a row had no room: the answer ends before it
}

// has takes a row of so many bytes in, if there is room for it and was for all before.
func (r *room) has(bytes int) bool {
	fits := !r.full
	switch {
	case !fits:
	case r.used == 0:
		fits = r.hold.FitsFirst(bytes)
	default:
		fits = r.hold.Fits(r.used + bytes)
	}
	if r.full = !fits; fits {
		r.used += bytes
	}
	return fits
}

// outline is a memory without what makes it large: many of them can be held and sorted.
func outline(m *oplog.Memory) *oplog.Memory {
	o := *m
	o.Text, o.Metadata, o.Attributes, o.Entities = "", nil, nil, nil
	return &o
}

// whole reads the memories of outlines as far as there is room. more says that some are left.
func whole(v *state.View, db oplog.DB, outlines []*oplog.Memory, hold *large.Hold) (list []*oplog.Memory, more bool) {
	r := room{hold: hold}
	for _, o := range outlines {
		m, ok := v.MemoryAt(db, o.Seq)
		if !ok {
			continue
		}
		if !r.has(m.Weight()) {
			return list, true
		}
		list = append(list, m)
	}
	return list, false
}
