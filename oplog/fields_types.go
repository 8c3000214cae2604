package oplog

// What every write stores, and what it reads, names its fields; the tests hold the names to the tags.

// Fields implements Fielded.
func (h *entryHead) Fields(f *Fields) {
	Number(f, "n", &h.Node)
	Number(f, "d", &h.DB)
	f.String("k", &h.Key)
	f.Bytes("g", &h.Digest)
	Number(f, "t", &h.KeyTTL)
	NumberAlways(f, "o", &h.Ops)
}

// Fields implements Fielded.
func (op *Remember) Fields(f *Fields) {
	f.StringAlways("rid", &op.RID)
	f.StringAlways("tx", &op.Text)
	f.String("ty", &op.Type)
	f.Float("im", &op.Importance)
	f.Float("hl", &op.HalfLife)
	f.Float("va", &op.Valence)
	f.Float("ce", &op.Certainty)
	f.String("ns", &op.Namespace)
	f.String("do", &op.Domain)
	f.String("so", &op.Source)
	f.String("em", &op.Emotion)
	f.Bytes("md", &op.Metadata)
	f.String("ti", &op.Tier)
	f.String("ow", &op.Owner)
	f.String("se", &op.Session)
	f.String("sp", &op.Speaker)
	Number(f, "du", &op.Due)
	f.String("tk", &op.TemporalKind)
	NumberAlways(f, "at", &op.Created)
	Number(f, "up", &op.Updated)
	f.Bytes("ve", (*[]byte)(&op.Vector))
	Number(f, "xv", &op.Extractor)
	List(f, "xe", &op.Entities)
	f.String("ik", &op.Key)
	f.Bytes("ig", &op.Digest)
}

// Fields implements Fielded.
func (m *Mention) Fields(f *Fields) {
	f.StringAlways("n", &m.Name)
	f.String("t", &m.Type)
}

// Fields implements Fielded.
func (m *Memory) Fields(f *Fields) {
	NumberAlways(f, "q", &m.Seq)
	f.StringAlways("r", &m.RID)
	f.StringAlways("x", &m.Text)
	f.String("t", &m.Type)
	Number(f, "s", &m.Status)
	f.Float("i", &m.Importance)
	f.Float("h", &m.HalfLife)
	f.Float("v", &m.Valence)
	f.Float("c", &m.Certainty)
	f.String("n", &m.Namespace)
	f.String("d", &m.Domain)
	f.String("u", &m.Source)
	f.String("e", &m.Emotion)
	f.Bytes("m", &m.Metadata)
	f.String("ti", &m.Tier)
	f.String("ow", &m.Owner)
	f.String("se", &m.Session)
	Number(f, "so", &m.Order)
	f.String("sp", &m.Speaker)
	NumberAlways(f, "ca", &m.Created)
	NumberAlways(f, "ua", &m.Updated)
	NumberAlways(f, "la", &m.Accessed)
	Number(f, "ac", &m.Accesses)
	Number(f, "du", &m.Due)
	f.String("tk", &m.TemporalKind)
	f.String("in", &m.Into)
	Number(f, "rv", &m.Revision)
	Number(f, "xv", &m.Extractor)
	f.Strings("xe", &m.Entities)
	f.Strings("xc", &m.Claims)
	Number(f, "mg", &m.Merged)
	f.String("fr", &m.Reason)
	f.Strings("ik", &m.Keys)
}

// Fields implements Fielded.
func (e *Entity) Fields(f *Fields) {
	f.StringAlways("n", &e.Name)
	f.StringAlways("t", &e.Type)
	NumberAlways(f, "f", &e.First)
	NumberAlways(f, "l", &e.Last)
	NumberAlways(f, "m", &e.Mentions)
}

// Fields implements Fielded.
func (s *Session) Fields(f *Fields) {
	f.StringAlways("id", &s.ID)
	f.StringAlways("ns", &s.Namespace)
	f.String("cl", &s.Client)
	f.Bytes("md", &s.Metadata)
	NumberAlways(f, "st", &s.Started)
	Number(f, "en", &s.Ended)
	Number(f, "s", &s.Status)
	f.String("su", &s.Summary)
	Number(f, "m", &s.Memories)
	f.Float("v", &s.ValenceSum)
	f.Strings("t", &s.Topics)
}

// Fields implements Fielded.
func (s *Stats) Fields(f *Fields) {
	NumberAlways(f, "n", &s.NextSeq)
	NumberAlways(f, "a", &s.Active)
	NumberAlways(f, "c", &s.Consolidated)
	NumberAlways(f, "t", &s.Tombstoned)
	NumberAlways(f, "e", &s.Edges)
	NumberAlways(f, "en", &s.Entities)
	NumberAlways(f, "cl", &s.Claims)
	NumberAlways(f, "o", &s.Operations)
	NumberAlways(f, "oc", &s.OpenConflicts)
	NumberAlways(f, "pt", &s.PendingTriggers)
}

// Fields implements Fielded.
func (r *Result) Fields(f *Fields) {
	f.String("id", &r.ID)
	Number(f, "n", &r.Num)
	f.True("c", &r.Changed)
	Any(f, "s", &r.Session, r.Session == nil)
	Any(f, "g", &r.Thought, r.Thought == nil)
	f.Strings("r", &r.Rows)
}

// Fields implements Fielded.
func (d *Database) Fields(f *Fields) {
	NumberAlways(f, "id", &d.ID)
	f.StringAlways("n", &d.Name)
	NumberAlways(f, "c", &d.Created)
	Number(f, "d", &d.Dim)
	Number(f, "q", &d.MaxMemories)
	Number(f, "b", &d.By)
	Value(f, "em", &d.Embedder)
}

// Fields implements Fielded.
func (t *Token) Fields(f *Fields) {
	f.StringAlways("h", &t.Hash)
	NumberAlways(f, "d", &t.DB)
	f.String("l", &t.Label)
	f.Strings("s", &t.Scopes)
	NumberAlways(f, "c", &t.Created)
	Number(f, "x", &t.Expires)
	Number(f, "r", &t.Revoked)
}

// Fields implements Fielded.
func (e *Embedder) Fields(f *Fields) {
	f.StringAlways("n", &e.Name)
	f.StringAlways("v", &e.Version)
	NumberAlways(f, "d", &e.Dim)
}

// Fields implements Fielded.
func (e *Embedding) Fields(f *Fields) {
	NumberAlways(f, "e", &e.Epoch)
	Number(f, "n", &e.Next)
	Number(f, "l", &e.Last)
	Value(f, "p", &e.Pending)
	Number(f, "c", &e.Changes)
}
