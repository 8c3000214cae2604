package engine

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// exportMemory makes the line of a memory. historyOf reads it again: what one leaves out, the other loses (TestMemoriesSurviveExport).
func exportMemory(v *state.View, db oplog.DB, m *oplog.Memory) api.ExportedMemory {
	e := api.ExportedMemory{Type: "memory", RID: m.RID, Text: m.Text, MemoryType: m.Type, Importance: m.Importance, Valence: m.Valence,
		HalfLife: m.HalfLife / 3600, Created: m.Created.Seconds(), Metadata: m.Metadata, Namespace: m.Namespace,
		Certainty: m.Certainty, Domain: m.Domain, Source: m.Source, Emotion: orNil(m.Emotion), Session: m.Session, Due: when(m.Due),
		Temporal: m.TemporalKind, Tier: m.Tier, Owner: m.Owner, Speaker: m.Speaker,
		History: api.History{Extractor: &m.Extractor, Updated: m.Updated.Seconds(), Accessed: m.Accessed.Seconds(), Accesses: m.Accesses, Order: m.Order,
			Into: m.Into, Merged: m.Merged, Reason: m.Reason, Revision: m.Revision}}
	if len(e.Metadata) == 0 {
		e.Metadata = json.RawMessage("null")
	}
	if m.Status == oplog.Consolidated {
		e.Status = m.Status.String()
	}
	if d, ok := v.Database(db); ok && (d.Embedder == nil || *d.Embedder == oplog.NoEmbedder) {
		e.Embedding = v.Vector(db, m.Seq).Floats()
	}
	for _, name := range m.Entities {
		named, _ := v.Entity(db, name)
		e.Entities = append(e.Entities, api.ExportedEntity{Name: name, Type: named.Type})
	}
	if m.Revision > 0 {
		e.Revisions = each(v.Revisions(db, m.Seq), exportRevision)
	}
	for _, id := range m.Claims {
		if c, ok := v.Claim(db, id); ok && c.SourceRID == m.RID { // another memory may have made it its own since
			e.Claims = append(e.Claims, exportClaim(c))
		}
	}
	return e
}

func exportRevision(r oplog.Revision) api.ExportedRevision {
	return api.ExportedRevision{Number: r.Number, Text: r.Text, Importance: r.Importance, Valence: r.Valence, Certainty: r.Certainty, Metadata: r.Metadata,
		From: r.From.Seconds(), Reason: r.Reason, Until: r.Until.Seconds()}
}

func exportClaim(c oplog.StoredClaim) api.ExportedClaim {
	return api.ExportedClaim{ID: c.ID, Namespace: c.Namespace, Src: c.Src, Type: c.Type, Dst: c.Dst, Polarity: c.Polarity, Modality: c.Modality, ValidFrom: c.ValidFrom,
		ValidTo: c.ValidTo, Extractor: c.Extractor, Version: c.Version, Band: c.Band, SpanStart: c.SpanStart, SpanEnd: c.SpanEnd, Weight: c.Weight,
		Created: c.At.Seconds(), Updated: c.Updated.Seconds()}
}

// historyOf gives the operation of an imported memory what the memory went through before.
func historyOf(op *oplog.Remember, d *api.Draft) error {
	p := d.History
	if err := fits("tombstone_reason", len(p.Reason), MaxReason); err != nil {
		return err
	}
	if err := names(p.Into); err != nil {
		return err
	}
	w := &oplog.History{Past: oplog.Past{Into: p.Into, Order: p.Order, Accessed: timeOf(p.Accessed), Accesses: p.Accesses, Revision: p.Revision,
		Merged: p.Merged, Reason: p.Reason}}
	switch p.Status {
	case "", oplog.Active.String():
	case oplog.Consolidated.String():
		w.Status = oplog.Consolidated
	default:
		return oplog.Errorf(oplog.Invalid, "consolidation_status %q: want active or consolidated", p.Status)
	}
	for _, r := range p.Revisions {
		if err := fits("text of a revision", len(r.Text), MaxText); err != nil {
			return err
		}
		w.Revisions = append(w.Revisions, oplog.Revision{Number: r.Number, Text: r.Text, Importance: r.Importance, Valence: r.Valence, Certainty: r.Certainty,
			Metadata: orNone(r.Metadata), From: timeOf(r.From), Reason: r.Reason, Until: timeOf(r.Until)})
	}
	for _, c := range p.Claims {
		if err := names(c.ID, c.Namespace, c.Src, c.Type, c.Dst, c.Modality, c.Extractor, c.Version, c.Band); err != nil {
			return err
		}
		w.Claims = append(w.Claims, oplog.StoredClaim{Updated: timeOf(c.Updated), Claim: oplog.Claim{ID: c.ID, Namespace: c.Namespace, Src: c.Src, Type: c.Type, Dst: c.Dst,
			Polarity: c.Polarity, Modality: c.Modality, ValidFrom: c.ValidFrom, ValidTo: c.ValidTo, Extractor: c.Extractor, Version: c.Version, Band: c.Band,
			SourceRID: op.RID, SpanStart: c.SpanStart, SpanEnd: c.SpanEnd, Weight: c.Weight, At: timeOf(c.Created)}})
	}
	for _, e := range p.Entities {
		if err := names(e.Name, e.Type); err != nil {
			return err
		}
		op.Entities = append(op.Entities, oplog.Mention{Name: e.Name, Type: e.Type})
	}
	op.Was, op.Extractor, op.Updated, op.HalfLife, op.Metadata = w, *p.Extractor, timeOf(p.Updated), secondsOf(d.HalfLife), orNone(d.Metadata)
	return nil
}

// timeOf reads a time as exports have it.
func timeOf(seconds float64) oplog.Time { return oplog.Time(math.Round(seconds * 1e6)) }

// secondsOf finds the seconds that an export has shown as so many hours, to the last bit.
func secondsOf(hours float64) float64 {
	s := hours * 3600
	for _, near := range []float64{s, math.Nextafter(s, 0), math.Nextafter(s, math.Inf(1))} {
		if near/3600 == hours {
			return near
		}
	}
	return s
}

// orNone is metadata as the state holds it: nothing for null.
func orNone(raw json.RawMessage) []byte {
	if string(raw) == "null" {
		return nil
	}
	return slices.Clip(raw)
}
