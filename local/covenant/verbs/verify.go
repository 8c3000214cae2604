package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cairndb/cairn/local/covenant/audit"
	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

func verify(f *serve.Fields) Action {
	window := f.Count("window", 100)
	return func(ctx context.Context, s *Session) (any, error) {
		c := &verifier{home: s.Home, window: window, checks: []kit.Object{}, drift: []kit.Object{}, rows: map[string]int{}}
		if err := c.collect(ctx); err != nil {
			return nil, home.StoreError("memory", err)
		}
		c.checkMemories()
		c.addCheck("memory parent references", 0, "0 stale parent reference(s)") // no verb sets a parent
		c.checkCapabilities()
		c.checkReceipts()
		return kit.Object{"kind", "verify_report", "window", window, "checks", c.checks, "drift", c.drift, "orphans_total", c.orphans}, nil
	}
}

// verifier compares records with the audit log. It reads the memories, receipts and capabilities first, then the
// changes in flight, then the audit log, so that a record whose row is just being written is not reported. For the
// same reason, it looks up the audit rows without a record in the state again at the end.
type verifier struct {
	home   *home.Home
	window uint64

	checks, drift []kit.Object // of the report
	orphans       int

	memories []api.Paid // of this protocol, newest first
	unpaid   []oplog.Receipt
	grants   []oplog.StoredGrant // live ones
	pending  map[string]int

	rows    map[string]int // number of audit rows, by the id of a memory or the signature of a grant
	intents []string       // ids in the newest rows; after collect, only those without a memory
}

func (c *verifier) collect(ctx context.Context) error {
	a, err := api.Census.Ask(ctx, c.home.Config.Memory, &api.CensusRequest{Window: c.window})
	if err != nil {
		return err
	}
	c.memories, c.unpaid, c.grants = a.Memories, a.Unpaid, a.Grants
	for _, m := range c.memories {
		c.rows[m.RID] = 0
	}
	for _, g := range c.grants {
		c.rows[g.Signature] = 0
	}
	c.pending = c.home.InFlight()
	if err := c.countRows(); err != nil {
		return err
	}
	lost, err := api.Census.Ask(ctx, c.home.Config.Memory, &api.CensusRequest{RIDs: c.intents})
	if err == nil {
		c.intents = slices.DeleteFunc(lost.Missing, func(id string) bool { return c.pending[id] > 0 })
	}
	return err
}

// countRows counts the audit rows of the memories and grants.
func (c *verifier) countRows() error {
	return c.home.Audit.Each(func(e *audit.Event) {
		var k struct {
			Type      string `json:"type"`
			Intent    string `json:"intent_id"`
			Signature string `json:"signature_b58"`
		}
		if json.Unmarshal(e.Kind, &k) != nil {
			return
		}
		id := k.Signature
		switch k.Type {
		case "intent_dispatched":
			id = k.Intent
			c.intents = append(c.intents, id)
			c.intents = c.intents[max(uint64(len(c.intents)), c.window)-c.window:] // keep the newest
		case "capability_granted":
		default:
			return
		}
		if n, ok := c.rows[id]; ok {
			c.rows[id] = n + 1
		}
	})
}

// hasAuditRow reports whether a memory or grant of this node has its audit row, or does not need one because the
// row is in flight or was purged.
func (c *verifier) hasAuditRow(id string, at oplog.Time) bool {
	return c.rows[id] > 0 || home.ToMillis(at) < c.home.Audit.Cutoff() || c.pending[id] > 0
}

func (c *verifier) addDrift(kind, id, message, repair string) {
	d := kit.Object{"kind", kind}
	if id != "" {
		d = append(d, "id", id)
	}
	c.drift = append(c.drift, append(d, "message", message, "repair", repair))
}

func (c *verifier) addCheck(name string, orphans int, message string) {
	c.checks = append(c.checks, kit.Object{"name", name, "passed", orphans == 0, "message", message})
	c.orphans += orphans
}

// skippedText says that n records of other nodes were skipped, because their audit rows are not on this node.
func skippedText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d replicated from other nodes skipped", n)
}

func (c *verifier) checkMemories() {
	others := 0
	for _, m := range c.memories {
		c.checkRecord(m.Memory)
		intent, _ := intentOf(json.RawMessage(m.Metadata))
		switch {
		case intent.Origin != c.home.Origin():
			others++
		case !c.hasAuditRow(m.RID, m.Created):
			c.addDrift("memory_without_audit", m.RID, "memory record has no intent_dispatched row",
				"inspect the record; purge it if it was not asked for")
		case c.rows[m.RID] > 1:
			c.addDrift("intent_dispatched_duplicate", m.RID, "intent has more than one intent_dispatched row", "inspect the audit log")
		}
	}
	memories := len(c.drift)
	for _, id := range c.intents {
		c.addDrift("audit_without_memory", id, "intent_dispatched row has no memory record",
			"restore the store, or purge the audit log up to the row")
	}
	c.addCheck("memory ↔ audit", len(c.drift),
		fmt.Sprintf("%d memory orphan(s), %d audit orphan(s)%s", memories, len(c.intents), skippedText(others)))
}

// checkRecord checks a single record.
func (c *verifier) checkRecord(m *oplog.Memory) {
	for _, s := range []struct {
		kind string
		bad  bool
	}{
		{"memory_empty_text", m.Text == ""},
		{"memory_record_id_nil", m.RID == "00000000-0000-0000-0000-000000000000"},
		{"memory_record_created_at_zero", m.Created == 0},
	} {
		if s.bad {
			c.addDrift(s.kind, m.RID, "memory record is malformed", "purge the record")
		}
	}
}

func (c *verifier) checkCapabilities() {
	others, before := 0, len(c.drift)
	for _, g := range c.grants {
		switch {
		case g.Node != c.home.Config.Node:
			others++
		case !c.hasAuditRow(g.Signature, g.At):
			c.addDrift("capability_without_audit", g.Signature, "capability has no capability_granted row", "revoke it if it was not granted")
		}
	}
	missing := len(c.drift) - before
	c.addCheck("capability ↔ audit", missing, fmt.Sprintf("%d capabilit(ies) without matching grant audit event%s", missing, skippedText(others)))
}

func (c *verifier) checkReceipts() {
	receipts, before := 0, len(c.drift)
	for _, m := range c.memories {
		receipts += len(m.Receipts)
		c.checkReceipt(m)
	}
	for _, r := range c.unpaid {
		c.addDrift("receipt_without_memory_record", r.ID, "receipt names a memory record that never was", "inspect the store")
	}
	exact := len(c.drift) - before
	diff := max(len(c.memories), receipts) - min(len(c.memories), receipts)
	c.addCheck("memory ↔ receipts", max(diff, exact), fmt.Sprintf(
		"%d memory record(s) vs %d receipt(s); count diff = %d; exact drift = %d; legacy fallback = 0", len(c.memories),
		receipts, diff, exact))
}

func (c *verifier) checkReceipt(m api.Paid) {
	const repair = "inspect the store"
	text, _ := displayed(m.Memory) // an answer is paid for, not its intent
	switch rs := m.Receipts; {
	case len(rs) == 0:
		c.addDrift("memory_without_receipt", m.RID, "memory record has no receipt", repair)
	case len(rs) > 1:
		c.addDrift("memory_receipt_duplicate", m.RID, "memory record has more than one receipt", repair)
	case rs[0].Payer != m.Owner:
		c.addDrift("memory_receipt_owner_mismatch", m.RID, "receipt was paid by another identity", repair)
	case rs[0].Credits != credits(text) && m.Revision == 0:
		c.addDrift("memory_receipt_mismatch", m.Owner, "receipt does not fit the memory record", repair)
	}
}
