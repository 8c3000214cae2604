package engine

import (
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// The types below are the parts of a memory in exports and imports.
var (
	exportContent  = api.Carry[oplog.Memory, api.ExportedMemory]()
	exportRevision = api.Made[oplog.Revision, api.ExportedRevision]()
	exportClaim    = api.Made[oplog.StoredClaim, api.ExportedClaim]()
	exportEdge     = api.Carry[oplog.Edge, api.ExportedEdge]()
	importHistory  = api.Carry[api.History, oplog.History]()
	importContent  = api.Carry[api.History, oplog.Content]()
	importClaim    = api.Carry[api.ExportedClaim, oplog.StoredClaim]()
)

// exportMemory makes the line of a memory. historyOf reads it again: what one leaves out, the other loses
// (TestMemoriesSurviveExport). Of what kind a name is, all memories say together: a bound token is not told.
func exportMemory(v *state.View, c api.Caller, m *oplog.Memory) api.ExportedMemory {
	db, e := c.DB, api.ExportedMemory{Line: "memory"}
	exportContent(m, &e)
	if m.Status == oplog.Active {
		e.Status = ""
	}
	if d, ok := v.Database(db); ok && (d.Embedder == nil || *d.Embedder == oplog.NoEmbedder) {
		e.Embedding = v.Vector(db, m.Seq).Floats()
	}
	for _, name := range m.Entities {
		row := api.ExportedEntity{Name: name}
		if known, _ := v.Entity(db, name); !c.Spaces.Bind() {
			row.Type = known.Type
		}
		e.Entities = append(e.Entities, row)
	}
	eachRevision(v, c, m, func(r oplog.Revision) bool {
		e.Revisions = append(e.Revisions, exportRevision(r))
		return true
	})
	for _, id := range m.Claims {
		if c, ok := v.Claim(db, id); ok && c.SourceRID == m.RID { // another memory may have made it its own since
			e.Claims = append(e.Claims, exportClaim(c))
		}
	}
	return e
}

// historyOf returns the history of an imported memory, for its operation.
func historyOf(op *oplog.Remember, d *api.Draft) error {
	p := d.History
	if err := checkSize("tombstone_reason", len(p.Reason), MaxReason); err != nil {
		return err
	}
	if err := oplog.CheckNames(p.Into, p.By); err != nil {
		return err
	}
	switch p.Status {
	case "", oplog.Active.String(), oplog.Consolidated.String(), oplog.Quarantined.String():
	default:
		return oplog.Errorf(oplog.Invalid, "consolidation_status %q: want active, consolidated or quarantined", p.Status)
	}
	for _, r := range p.Revisions {
		if err := checkSize("text of a revision", len(r.Text), MaxText); err != nil {
			return err
		}
	}
	w := &oplog.History{}
	importHistory(p, w)
	w.Claims = make([]oplog.StoredClaim, len(p.Claims))
	for i, c := range p.Claims {
		if err := oplog.CheckNames(c.ID, c.Namespace, c.Src, c.Type, c.Dst, c.Modality, c.Extractor, c.Version, c.Band); err != nil {
			return err
		}
		importClaim(&c, &w.Claims[i])
		w.Claims[i].SourceRID = op.RID
	}
	for _, e := range p.Entities {
		if err := oplog.CheckNames(e.Name, e.Type); err != nil {
			return err
		}
		op.Entities = append(op.Entities, oplog.Mention{Name: e.Name, Type: e.Type})
	}
	importContent(p, &op.Content)
	op.Was = w
	return nil
}
