package engine

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// stampDraft sets the writer of a draft. The client provides only the name of its agent, and a class below its own.
func stampDraft(c api.Caller, d *api.Draft) error {
	by := c.Stamp()
	switch {
	case d.Trust == "":
		d.Trust = by.Trust
	case oplog.TrustBelow(by.Trust, d.Trust) > 0:
		return api.TooTrusted("trust: this caller writes as %s at most, got %s", by.Trust, d.Trust)
	}
	if d.Dialect == "" { // an operator's import has its own
		d.Writer, d.Dialect = by.Writer, by.Dialect
	}
	return nil
}

// requireQuarantinable rejects an operation that writes values for which there is no quarantine, if the policy
// quarantines all texts of the caller.
func requireQuarantinable(c api.Caller, op *api.Op) error {
	if !c.Held() || !op.Writes || op.Waits {
		return nil
	}
	return quarantineError("%s: what this token writes waits in quarantine, and this cannot wait: use remember, or a token without that policy", op.Name)
}

// quarantineError returns the error for a value for which there is no quarantine, if the caller's texts are
// quarantined.
func quarantineError(format string, args ...any) error {
	return &api.Refusal{Code: "quarantined", Err: oplog.Errorf(oplog.Denied, format, args...)}
}

// importStamp returns the stamp of an imported memory: that of its line, limited to the importer's own trust. A line
// without a class gets the class of an agent.
func (im *importer) importStamp(d *api.Draft, l *api.ImportedLine) {
	by := im.c.Stamp()
	d.Trust = oplog.LowestTrust(d.Trust, by.Trust)
	if by.Trust == oplog.TrustOperator {
		d.Writer, d.Dialect = l.Writer, l.Dialect
	} else if d.History != nil {
		for i := range d.History.Revisions {
			was := &d.History.Revisions[i].Stamp
			was.Writer, was.Dialect, was.Trust = by.Writer, by.Dialect, oplog.LowestTrust(was.Trust, by.Trust)
		}
	}
}

// errHeld returns the error for a change that a memory in quarantine cannot have.
func errHeld(rid string) error {
	return oplog.Errorf(oplog.Conflict, "memory %s waits in quarantine: release it first", rid)
}

// quarantine marks a memory that the caller's policy distrusts. It removes the memory's key, because clients that
// read or write that key would find it.
func quarantine(c api.Caller, op *oplog.Remember) error {
	op.Held = oplog.Quarantines(c.Policy.Quarantine, op.Trust)
	if op.Held && op.Path != "" {
		return quarantineError("what this token writes as %s waits in quarantine, where a memory has no key: use remember", op.Trust)
	}
	return nil
}

// lowTrust returns a class that is trusted less than an agent; blank for other classes.
func lowTrust(class string) string {
	if oplog.TrustBelow(class, oplog.TrustAgent) == 0 {
		return ""
	}
	return oplog.TrustOf(class)
}

const maxHeld = 200 // rows in a page of the quarantine

// quarantined returns a page of the memories in quarantine. Its cursor is the number of the last memory that it read,
// because that may be one of another namespace, whose id the caller must not learn.
func (s *Service) quarantined(v *state.View, c api.Caller, q *api.QuarantineRequest) (*api.QuarantinePage, error) {
	page, most, behind := &api.QuarantinePage{Memories: []api.Memory{}}, min(max(q.Limit, 1), maxHeld), oplog.Seq(0)
	if q.After != "" {
		number, known := strings.CutPrefix(q.After, "#")
		seq, err := strconv.ParseUint(number, 10, 64)
		if behind = oplog.Seq(seq); !known || err != nil { // an id, which this list gave as a cursor before
			behind, known = v.Seq(c.DB, q.After)
		}
		if !known {
			return nil, oplog.Errorf(oplog.NotFound, "after: there is no memory %s", api.Quoted(q.After))
		}
	}
	left, within, looked := byteBudget{hold: c.Hold}, c.Reach(q.Namespace), 0
	v.Quarantined(c.DB, behind, func(m *oplog.Memory) bool {
		wanted := within.Has(m.Namespace)
		if len(page.Memories) == most || looked == maxScan || wanted && !left.reserve(m.Weight()) {
			page.Next = new(fmt.Sprint("#", behind))
			return false
		}
		if looked, behind = looked+1, m.Seq; wanted {
			page.Memories = append(page.Memories, memoryOf(m))
		}
		return true
	})
	return page, nil
}

// release releases a memory from quarantine, by a correction that changes nothing else. The correction carries the
// names in the text, and the vector.
func (s *Service) release(ctx context.Context, c api.Caller, q *api.ReleaseRequest) (*api.Released, error) {
	if err := checkSize("reason", len(q.Reason), MaxReason); err != nil {
		return nil, err
	}
	m, err := s.memory(c.DB, q.RID)
	if err != nil {
		return nil, err
	}
	if m.RID == "" {
		return nil, oplog.ErrNoMemory
	}
	op := &oplog.Correct{RID: q.RID, Text: &m.Text, Approval: oplog.Approval{Release: true},
		Reason: cmp.Or(q.Reason, "released from quarantine"), At: oplog.At(s.now())}
	w, err := s.change(ctx, c, op, &m.Revision, write{})
	return &api.Released{RID: q.RID, Trust: oplog.TrustOf(m.Trust), Index: field.Token(w.Index)}, err
}

const (
	mostOrigins   = 64 // memories in a chain
	deepestOrigin = 16 // levels of merges
)

// origins returns a memory and all memories that it was made of, through merges and resolved contradictions, with
// their writers. It leaves out sources that the caller may not read.
func origins(v *state.View, c api.Caller, m *oplog.Memory) (all []api.Origin) {
	within, seen := c.Reach(""), map[string]bool{}
	var add func(m *oplog.Memory, into string, deep int)
	add = func(m *oplog.Memory, into string, deep int) {
		if seen[m.RID] || len(all) == mostOrigins || !within.Has(m.Namespace) {
			return
		}
		seen[m.RID] = true
		row := api.Origin{Made: into}
		showOrigin(m, &row)
		all = append(all, row)
		if deep == deepestOrigin {
			return
		}
		for _, rid := range v.Sources(c.DB, m) {
			if source, ok := v.Memory(c.DB, rid); ok {
				add(source, m.RID, deep+1)
			}
		}
	}
	add(m, "", 0)
	return all
}

var showOrigin = api.Carry[oplog.Memory, api.Origin]()

// explainOrigins adds to each row of an explained answer its origins.
func (s *Service) explainOrigins(c api.Caller, hits []index.Hit, rows []api.Result) error {
	return s.state.Inspect(func(v *state.View) {
		for i := range rows {
			rows[i].Origins = origins(v, c, hits[i].Memory)
		}
	})
}
