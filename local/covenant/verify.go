package covenant

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/cairndb/cairn/local/covenant/audit"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

func verify(f *fields) action {
	window := f.count("window", 100)
	return func(ctx context.Context, s *session) (any, error) {
		c := &census{srv: s.srv, window: window, checks: []kit.Object{}, drift: []kit.Object{}}
		if err := c.collect(ctx); err != nil {
			return nil, storeError("memory", err)
		}
		c.memoryAndAudit()
		c.parents()
		c.capabilities()
		c.receipts()
		return kit.Object{"kind", "verify_report", "window", window, "checks", c.checks, "drift", c.drift, "orphans_total", c.orphans}, nil
	}
}

// A census is what the checks compare. The newest memories, receipts and capabilities are read first, then whose rows are
// still to come, then the whole audit log: so what has no row had its time to get one. An audit row, the other way round,
// is looked for in the state as it is after that.
type census struct {
	srv    *Server
	window uint64

	checks, drift []kit.Object // of the report
	orphans       uint64

	memories  []*oplog.Memory // this protocol's, newest first
	receiptOf map[string][]oplog.Receipt
	receiptsN []oplog.Receipt
	grants    []oplog.StoredGrant // live ones
	pending   map[string]bool

	dispatched map[string]int // intent → its rows, of the memories looked at
	granted    map[string]bool
	intents    []string // of the newest rows
	homeless   []string // those without a memory
	noMemory   map[string]bool
}

func (c *census) collect(ctx context.Context) error {
	if c.window == 0 {
		return nil
	}
	if err := c.srv.cfg.Memory.View(ctx, c.state); err != nil {
		return err
	}
	c.pending = c.srv.inFlight()
	if err := c.rows(); err != nil {
		return err
	}
	return c.srv.cfg.Memory.View(ctx, func(v *state.View, db oplog.DB) error {
		for _, id := range c.intents {
			if _, ok := v.Memory(db, id); !ok && !c.pending[id] {
				c.homeless = append(c.homeless, id)
			}
		}
		return nil
	})
}

// state reads the newest receipts, and by them the newest memories: every memory of this protocol has one. Memories
// without are found by their own time.
func (c *census) state(v *state.View, db oplog.DB) error {
	c.receiptOf, c.noMemory = map[string][]oplog.Receipt{}, map[string]bool{}
	v.Receipts(db, "", func(r oplog.Receipt) bool {
		c.receiptsN = append(c.receiptsN, r)
		if _, ok := v.Memory(db, r.Memory); !ok {
			c.noMemory[r.Memory] = true
		}
		return uint64(len(c.receiptsN)) < c.window
	})
	looked := 0
	v.Recent(db, 0, func(m *oplog.Memory) bool {
		looked++
		if m.Namespace == oplog.CovenantNamespace && m.Status != oplog.Tombstoned {
			c.memories = append(c.memories, m)
			c.receiptOf[m.RID] = v.ReceiptsOf(db, m.RID)
		}
		return uint64(len(c.memories)) < c.window && looked < maxCensus
	})
	v.Grants(db, "", func(g oplog.StoredGrant) bool {
		if g.Revoked == 0 {
			c.grants = append(c.grants, g)
		}
		return uint64(len(c.grants)) < c.window
	})
	return nil
}

// maxCensus bounds how many memories of other protocols are passed over in the search for this one's.
const maxCensus = 1_000_000

func (c *census) rows() error {
	c.dispatched, c.granted = map[string]int{}, map[string]bool{}
	for _, m := range c.memories {
		c.dispatched[m.RID] = 0
	}
	for _, g := range c.grants {
		c.granted[g.Signature] = false
	}
	return c.srv.audit.Each(func(e *audit.Event) {
		var k struct {
			Type      string `json:"type"`
			Intent    string `json:"intent_id"`
			Signature string `json:"signature_b58"`
		}
		if json.Unmarshal(e.Kind, &k) != nil {
			return
		}
		switch k.Type {
		case "intent_dispatched":
			if n, ok := c.dispatched[k.Intent]; ok {
				c.dispatched[k.Intent] = n + 1
			}
			c.intents = append(c.intents, k.Intent)
			if uint64(len(c.intents)) > c.window { // the newest ones stay
				c.intents = c.intents[1:]
			}
		case "capability_granted":
			if _, ok := c.granted[k.Signature]; ok {
				c.granted[k.Signature] = true
			}
		}
	})
}

func (c *census) found(kind, id, message, repair string) {
	d := kit.Object{"kind", kind}
	if id != "" {
		d = append(d, "id", id)
	}
	c.drift = append(c.drift, append(d, "message", message, "repair", repair))
}

func (c *census) check(name string, orphans uint64, message string) {
	c.checks = append(c.checks, kit.Object{"name", name, "passed", orphans == 0, "message", message})
	c.orphans += orphans
}

// ofOthers is what a message says of things that other nodes answer for.
func ofOthers(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d replicated from other nodes skipped", n)
}

func (c *census) memoryAndAudit() {
	var missing, others, shapes uint64
	for _, m := range c.memories {
		shapes += c.shape(m)
		if originOf(m) != c.srv.origin() {
			others++
			continue
		}
		n := c.dispatched[m.RID]
		switch {
		case n == 0 && toMillis(m.Created) >= c.srv.audit.Cutoff() && !c.pending[m.RID]:
			missing++
			c.found("memory_without_audit", m.RID, "memory record has no intent_dispatched row", "inspect the record; purge it if it was not asked for")
		case n > 1:
			missing++
			c.found("intent_dispatched_duplicate", m.RID, "intent has more than one intent_dispatched row", "inspect the audit log")
		}
	}
	for _, id := range c.homeless {
		c.found("audit_without_memory", id, "intent_dispatched row has no memory record", "restore the store, or purge the audit log up to the row")
	}
	c.check("memory ↔ audit", missing+uint64(len(c.homeless))+shapes,
		fmt.Sprintf("%d memory orphan(s), %d audit orphan(s)%s", missing+shapes, len(c.homeless), ofOthers(int(others))))
}

// shape looks at a record by itself.
func (c *census) shape(m *oplog.Memory) (n uint64) {
	for _, s := range []struct {
		kind string
		bad  bool
	}{
		{"memory_empty_text", m.Text == ""},
		{"memory_record_id_nil", m.RID == "00000000-0000-0000-0000-000000000000"},
		{"memory_record_created_at_zero", m.Created == 0},
	} {
		if s.bad {
			n++
			c.found(s.kind, m.RID, "memory record is malformed", "purge the record")
		}
	}
	return n
}

func originOf(m *oplog.Memory) string {
	var meta struct {
		Origin string `json:"origin_node"`
	}
	if json.Unmarshal(m.Metadata, &meta) != nil {
		return ""
	}
	return meta.Origin
}

// parents: no verb of this protocol gives a record one.
func (c *census) parents() { c.check("memory parent references", 0, "0 stale parent reference(s)") }

func (c *census) capabilities() {
	var missing uint64
	others := 0
	for _, g := range c.grants {
		switch {
		case g.Node != c.srv.cfg.Node:
			others++
		case !c.granted[g.Signature] && toMillis(g.At) >= c.srv.audit.Cutoff() && !c.pending[g.Signature]:
			missing++
			c.found("capability_without_audit", g.Signature, "capability has no capability_granted row", "revoke it if it was not granted")
		}
	}
	c.check("capability ↔ audit", missing, fmt.Sprintf("%d capabilit(ies) without matching grant audit event%s", missing, ofOthers(others)))
}

func (c *census) receipts() {
	var exact uint64
	for _, m := range c.memories {
		rs := c.receiptOf[m.RID]
		exact += c.compare(m, rs)
	}
	for _, r := range c.receiptsN {
		if c.noMemory[r.Memory] && r.Resource == "memory" {
			exact++
			c.found("receipt_without_memory_record", r.ID, "receipt names a memory record that never was", "inspect the store")
		}
	}
	memories, receipts := uint64(len(c.memories)), uint64(0)
	for _, m := range c.memories {
		receipts += uint64(len(c.receiptOf[m.RID]))
	}
	diff := uint64(math.Abs(float64(memories) - float64(receipts)))
	c.check("memory ↔ receipts", max(diff, exact), fmt.Sprintf(
		"%d memory record(s) vs %d receipt(s); count diff = %d; exact drift = %d; legacy fallback = 0", memories, receipts, diff, exact))
}

func (c *census) compare(m *oplog.Memory, rs []oplog.Receipt) (n uint64) {
	const repair = "inspect the store"
	switch {
	case len(rs) == 0:
		c.found("memory_without_receipt", m.RID, "memory record has no receipt", repair)
		return 1
	case len(rs) > 1:
		c.found("memory_receipt_duplicate", m.RID, "memory record has more than one receipt", repair)
		return 1
	case rs[0].Payer != m.Owner:
		c.found("memory_receipt_owner_mismatch", m.RID, "receipt was paid by another identity", repair)
		return 1
	case rs[0].Credits != credits(m.Text) && m.Revision == 0:
		c.found("memory_receipt_mismatch", m.Owner, "receipt does not fit the memory record", repair)
		return 1
	}
	return 0
}
