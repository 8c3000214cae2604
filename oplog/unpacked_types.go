package oplog

// What every write decodes reads itself; TestUnpackedIsWhatTheDecoderReads holds it to the tags.

// Unpack implements Unpacked.
func (h *entryHead) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "n":
			h.Node = Number[uint32](u)
		case "d":
			h.DB = Number[DB](u)
		case "k":
			h.Key = u.String()
		case "g":
			h.Digest = u.Bytes()
		case "t":
			h.KeyTTL = Number[Time](u)
		case "o":
			h.Ops = Number[int](u)
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (op *Remember) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "rid":
			op.RID = u.String()
		case "tx":
			op.Text = u.String()
		case "ty":
			op.Type = u.String()
		case "im":
			op.Importance = u.Float()
		case "hl":
			op.HalfLife = u.Float()
		case "va":
			op.Valence = u.Float()
		case "ce":
			op.Certainty = u.Float()
		case "ns":
			op.Namespace = u.String()
		case "do":
			op.Domain = u.String()
		case "so":
			op.Source = u.String()
		case "em":
			op.Emotion = u.String()
		case "md":
			op.Metadata = u.Bytes()
		case "ti":
			op.Tier = u.String()
		case "ow":
			op.Owner = u.String()
		case "se":
			op.Session = u.String()
		case "sp":
			op.Speaker = u.String()
		case "du":
			op.Due = Number[Time](u)
		case "tk":
			op.TemporalKind = u.String()
		case "at":
			op.Created = Number[Time](u)
		case "up":
			op.Updated = Number[Time](u)
		case "ve":
			op.Vector = u.Bytes()
		case "xv":
			op.Extractor = Number[uint8](u)
		case "xe":
			UnpackAll(u, &op.Entities)
		case "ik":
			op.Key = u.String()
		case "ig":
			op.Digest = u.Bytes()
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (m *Mention) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "n":
			m.Name = u.String()
		case "t":
			m.Type = u.String()
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (m *Memory) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "q":
			m.Seq = Number[Seq](u)
		case "r":
			m.RID = u.String()
		case "x":
			m.Text = u.String()
		case "t":
			m.Type = u.String()
		case "s":
			m.Status = Number[Status](u)
		case "i":
			m.Importance = u.Float()
		case "h":
			m.HalfLife = u.Float()
		case "v":
			m.Valence = u.Float()
		case "c":
			m.Certainty = u.Float()
		case "n":
			m.Namespace = u.String()
		case "d":
			m.Domain = u.String()
		case "u":
			m.Source = u.String()
		case "e":
			m.Emotion = u.String()
		case "m":
			m.Metadata = u.Bytes()
		case "ti":
			m.Tier = u.String()
		case "ow":
			m.Owner = u.String()
		case "se":
			m.Session = u.String()
		case "so":
			m.Order = Number[uint64](u)
		case "sp":
			m.Speaker = u.String()
		case "ca":
			m.Created = Number[Time](u)
		case "ua":
			m.Updated = Number[Time](u)
		case "la":
			m.Accessed = Number[Time](u)
		case "ac":
			m.Accesses = Number[uint64](u)
		case "du":
			m.Due = Number[Time](u)
		case "tk":
			m.TemporalKind = u.String()
		case "in":
			m.Into = u.String()
		case "rv":
			m.Revision = Number[uint32](u)
		case "xv":
			m.Extractor = Number[uint8](u)
		case "xe":
			m.Entities = u.Strings()
		case "xc":
			m.Claims = u.Strings()
		case "mg":
			m.Merged = Number[uint32](u)
		case "fr":
			m.Reason = u.String()
		case "ik":
			m.Keys = u.Strings()
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (e *Entity) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "n":
			e.Name = u.String()
		case "t":
			e.Type = u.String()
		case "f":
			e.First = Number[Time](u)
		case "l":
			e.Last = Number[Time](u)
		case "m":
			e.Mentions = Number[uint64](u)
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (s *Session) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "id":
			s.ID = u.String()
		case "ns":
			s.Namespace = u.String()
		case "cl":
			s.Client = u.String()
		case "md":
			s.Metadata = u.Bytes()
		case "st":
			s.Started = Number[Time](u)
		case "en":
			s.Ended = Number[Time](u)
		case "s":
			s.Status = Number[SessionStatus](u)
		case "su":
			s.Summary = u.String()
		case "m":
			s.Memories = Number[uint64](u)
		case "v":
			s.ValenceSum = u.Float()
		case "t":
			s.Topics = u.Strings()
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (s *Stats) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "n":
			s.NextSeq = Number[uint64](u)
		case "a":
			s.Active = Number[uint64](u)
		case "c":
			s.Consolidated = Number[uint64](u)
		case "t":
			s.Tombstoned = Number[uint64](u)
		case "e":
			s.Edges = Number[uint64](u)
		case "en":
			s.Entities = Number[uint64](u)
		case "cl":
			s.Claims = Number[uint64](u)
		case "o":
			s.Operations = Number[uint64](u)
		case "oc":
			s.OpenConflicts = Number[uint64](u)
		case "pt":
			s.PendingTriggers = Number[uint64](u)
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (r *Result) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "id":
			r.ID = u.String()
		case "n":
			r.Num = Number[uint64](u)
		case "c":
			r.Changed = u.Bool()
		case "s":
			u.Any(&r.Session)
		case "g":
			u.Any(&r.Thought)
		case "r":
			r.Rows = u.Strings()
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (d *Database) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "id":
			d.ID = Number[DB](u)
		case "n":
			d.Name = u.String()
		case "c":
			d.Created = Number[Time](u)
		case "d":
			d.Dim = Number[uint32](u)
		case "q":
			d.MaxMemories = Number[uint64](u)
		case "b":
			d.By = Number[DB](u)
		case "em":
			unpackInto(u, &d.Embedder)
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (e *Embedder) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "n":
			e.Name = u.String()
		case "v":
			e.Version = u.String()
		case "d":
			e.Dim = Number[uint32](u)
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (t *Token) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "h":
			t.Hash = u.String()
		case "d":
			t.DB = Number[DB](u)
		case "l":
			t.Label = u.String()
		case "s":
			t.Scopes = u.Strings()
		case "c":
			t.Created = Number[Time](u)
		case "x":
			t.Expires = Number[Time](u)
		case "r":
			t.Revoked = Number[Time](u)
		default:
			u.Skip()
		}
	}
}

// Unpack implements Unpacked.
func (e *Embedding) Unpack(u *Unpacker) {
	for name := range u.Fields {
		switch string(name) {
		case "e":
			e.Epoch = Number[uint32](u)
		case "n":
			e.Next = Number[Seq](u)
		case "l":
			e.Last = Number[Seq](u)
		case "p":
			unpackInto(u, &e.Pending)
		case "c":
			e.Changes = Number[uint32](u)
		default:
			u.Skip()
		}
	}
}
