package engine

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/large"
)

// errManyAnswers rejects an answer that exceeds the remaining byte budget.
var errManyAnswers = oplog.Errorf(oplog.Unavailable, "too many large answers at once; retry")

// byteBudget reserves the bytes of an answer's rows from the node's budget, row by row.
type byteBudget struct {
	hold *large.Hold
	used int
	full bool // a row had no room: the answer ends before it
}

// reserve reserves the bytes of a row, and reports whether there was room for it and all rows before it.
func (r *byteBudget) reserve(bytes int) bool {
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

// outline returns a copy of a memory without its large fields, so that many of them can be held and sorted.
func outline(m *oplog.Memory) *oplog.Memory {
	o := *m
	o.Text, o.Metadata, o.Attributes, o.Entities = "", nil, nil, nil
	return &o
}

// readFull reads the memories of outlines, as many as the budget allows. more reports whether some were left out.
func readFull(v *state.View, db oplog.DB, outlines []*oplog.Memory, hold *large.Hold) (list []*oplog.Memory, more bool) {
	r := byteBudget{hold: hold}
	for _, o := range outlines {
		m, ok := v.MemoryAt(db, o.Seq)
		if !ok {
			continue
		}
		if !r.reserve(m.Weight()) {
			return list, true
		}
		list = append(list, m)
	}
	return list, false
}
