package oplog

// What every write encodes packs itself; TestPackedIsWhatTheEncoderMakes holds it to the tags.

// Pack implements Packed.
func (h *entryHead) Pack(dst []byte) []byte {
	f := PackFields(dst)
	f.Uint("n", uint64(h.Node))
	f.Uint("d", uint64(h.DB))
	f.String("k", h.Key)
	f.Bytes("g", h.Digest)
	f.Int("t", int64(h.KeyTTL))
	f.IntAlways("o", int64(h.Ops))
	return f.End()
}

// Pack implements Packed.
func (op *Remember) Pack(dst []byte) []byte {
	f := PackFields(dst)
	f.StringAlways("rid", op.RID)
	f.StringAlways("tx", op.Text)
	f.String("ty", op.Type)
	f.Float("im", op.Importance)
	f.Float("hl", op.HalfLife)
	f.Float("va", op.Valence)
	f.Float("ce", op.Certainty)
	f.String("ns", op.Namespace)
	f.String("do", op.Domain)
	f.String("so", op.Source)
	f.String("em", op.Emotion)
	f.Bytes("md", op.Metadata)
	f.String("ti", op.Tier)
	f.String("ow", op.Owner)
	f.String("se", op.Session)
	f.String("sp", op.Speaker)
	f.Int("du", int64(op.Due))
	f.String("tk", op.TemporalKind)
	f.IntAlways("at", int64(op.Created))
	f.Int("up", int64(op.Updated))
	f.Bytes("ve", op.Vector)
	f.Uint("xv", uint64(op.Extractor))
	if len(op.Entities) > 0 {
		PackAll(&f, "xe", op.Entities)
	}
	f.String("ik", op.Key)
	f.Bytes("ig", op.Digest)
	return f.End()
}

// Pack implements Packed.
func (m Mention) Pack(dst []byte) []byte {
	f := PackFields(dst)
	f.StringAlways("n", m.Name)
	f.String("t", m.Type)
	return f.End()
}

// Pack implements Packed.
func (m *Memory) Pack(dst []byte) []byte {
	f := PackFields(dst)
	f.UintAlways("q", uint64(m.Seq))
	f.StringAlways("r", m.RID)
	f.StringAlways("x", m.Text)
	f.String("t", m.Type)
	f.Uint("s", uint64(m.Status))
	f.Float("i", m.Importance)
	f.Float("h", m.HalfLife)
	f.Float("v", m.Valence)
	f.Float("c", m.Certainty)
	f.String("n", m.Namespace)
	f.String("d", m.Domain)
	f.String("u", m.Source)
	f.String("e", m.Emotion)
	f.Bytes("m", m.Metadata)
	f.String("ti", m.Tier)
	f.String("ow", m.Owner)
	f.String("se", m.Session)
	f.Uint("so", m.Order)
	f.String("sp", m.Speaker)
	f.IntAlways("ca", int64(m.Created))
	f.IntAlways("ua", int64(m.Updated))
	f.IntAlways("la", int64(m.Accessed))
	f.Uint("ac", m.Accesses)
	f.Int("du", int64(m.Due))
	f.String("tk", m.TemporalKind)
	f.String("in", m.Into)
	f.Uint("rv", uint64(m.Revision))
	f.Uint("xv", uint64(m.Extractor))
	f.Strings("xe", m.Entities)
	f.Strings("xc", m.Claims)
	f.Uint("mg", uint64(m.Merged))
	f.String("fr", m.Reason)
	f.Strings("ik", m.Keys)
	return f.End()
}

// Pack implements Packed.
func (e *Entity) Pack(dst []byte) []byte {
	f := PackFields(dst)
	f.StringAlways("n", e.Name)
	f.StringAlways("t", e.Type)
	f.IntAlways("f", int64(e.First))
	f.IntAlways("l", int64(e.Last))
	f.UintAlways("m", e.Mentions)
	return f.End()
}

// Pack implements Packed.
func (s *Session) Pack(dst []byte) []byte {
	f := PackFields(dst)
	f.StringAlways("id", s.ID)
	f.StringAlways("ns", s.Namespace)
	f.String("cl", s.Client)
	f.Bytes("md", s.Metadata)
	f.IntAlways("st", int64(s.Started))
	f.Int("en", int64(s.Ended))
	f.Uint("s", uint64(s.Status))
	f.String("su", s.Summary)
	f.Uint("m", s.Memories)
	f.Float("v", s.ValenceSum)
	f.Strings("t", s.Topics)
	return f.End()
}

// Pack implements Packed.
func (s *Stats) Pack(dst []byte) []byte {
	f := PackFields(dst)
	f.UintAlways("n", s.NextSeq)
	f.UintAlways("a", s.Active)
	f.UintAlways("c", s.Consolidated)
	f.UintAlways("t", s.Tombstoned)
	f.UintAlways("e", s.Edges)
	f.UintAlways("en", s.Entities)
	f.UintAlways("cl", s.Claims)
	f.UintAlways("o", s.Operations)
	f.UintAlways("oc", s.OpenConflicts)
	f.UintAlways("pt", s.PendingTriggers)
	return f.End()
}

// Pack implements Packed.
func (r Result) Pack(dst []byte) []byte {
	f := PackFields(dst)
	f.String("id", r.ID)
	f.Uint("n", r.Num)
	f.True("c", r.Changed)
	if r.Session != nil {
		f.Any("s", r.Session)
	}
	if r.Thought != nil {
		f.Any("g", r.Thought)
	}
	f.Strings("r", r.Rows)
	return f.End()
}
