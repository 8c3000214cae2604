package engine

import (
	"context"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/extract"
	"github.com/cairndb/cairn/oplog/state"
)

// A draftError is the reason why one of several drafts is rejected.
type draftError struct {
	at  int
	err error
}

func (e *draftError) Error() string { return e.err.Error() }
func (e *draftError) Unwrap() error { return e.err }

// prepareDrafts decides everything that Apply must not decide: ids, times, vectors, and the names in the texts.
func (s *Service) prepareDrafts(ctx context.Context, c api.Caller, drafts []api.Draft) ([]*oplog.Remember, error) {
	now, err := s.state.Current(c.DB)
	if err != nil {
		return nil, err
	}
	ops := make([]*oplog.Remember, len(drafts))
	for i := range drafts {
		if err := stampDraft(c, &drafts[i]); err != nil {
			return nil, err
		}
		if ops[i], err = makeRemember(&drafts[i], s.now(), int(now.Database.Dim)); err != nil {
			return nil, &draftError{i, err}
		}
		ops[i].Attributes = liftAttributes(ops[i].Attributes, ops[i].Metadata, now.Lift)
		if err := quarantine(c, ops[i]); err != nil {
			return nil, err
		}
		if err := s.setExpiry(ops[i], &drafts[i], now.TTL); err != nil {
			return nil, err
		}
	}
	if err := s.vectors.Add(ctx, c, ops); err != nil {
		return nil, err
	}
	return ops, s.withNames(c.DB, func(v *state.View) error {
		for _, op := range ops {
			if op.Was == nil && !op.Unsearchable && !op.Held { // an imported memory brings what was read in its text
				op.Extractor, op.Entities, op.Claims = readText(v, c, op.Text)
			}
		}
		return ctx.Err()
	})
}

// composeMemory prepares a memory that this node has made from others. near is its vector if no embedder makes one.
func (s *Service) composeMemory(ctx context.Context, c api.Caller, d api.Draft, near oplog.Vector) (*oplog.Remember, error) {
	secrets, err := s.redactor(c.DB)
	if err != nil {
		return nil, err
	}
	drafts := []api.Draft{d}
	secrets.drafts(drafts)
	ops, err := s.prepareDrafts(ctx, c, drafts)
	if err != nil {
		return nil, err
	}
	now, err := s.state.Current(c.DB)
	if err == nil && len(ops[0].Vector) == 0 && !s.vectors.Makes(now.Database) {
		ops[0].Vector = near
	}
	return ops[0], err
}

// withNames calls f with a view in which texts are linked to the names that a database knows; nil if it knows none.
func (s *Service) withNames(db oplog.DB, f func(*state.View) error) error {
	switch now, err := s.state.Current(db); {
	case err != nil:
		return err
	case now.Stats.Entities == 0:
		return f(nil)
	}
	return s.state.Read(f)
}

// extract adds the names and statements of a text to the operation that carries it.
func (s *Service) extract(c api.Caller, text string) (version uint8, entities []oplog.Mention, claims []oplog.Claim, err error) {
	err = s.withNames(c.DB, func(v *state.View) error {
		version, entities, claims = readText(v, c, text)
		return nil
	})
	return version, entities, claims, err
}

// sameNames bounds the entities that one folded form links to.
const sameNames = 4

// readText extracts the names of a text, and links them to the names in a view, unless that is nil. A bound token's
// text is linked only to names of memories within reach: it must not learn names of other memories.
func readText(v *state.View, c api.Caller, text string) (version uint8, names []oplog.Mention, claims []oplog.Claim) {
	var known func(string) []string
	if v != nil {
		known = func(folded string) []string {
			return slices.DeleteFunc(v.EntitiesFolded(c.DB, folded, sameNames),
				func(name string) bool { return !v.NamedWithin(c.DB, c.Spaces, name) })
		}
	}
	entities := extract.Link(text, extract.Entities(text), known)
	names = api.Each(entities, func(e extract.Entity) oplog.Mention { return oplog.Mention{Name: e.Name, Type: e.Type} })
	for _, c := range extract.Claims(text, entities) {
		start, end := int64(c.Start), int64(c.End)
		claim := oplog.Claim{ID: oplog.NewID(), Src: c.Src, Type: c.Type, Dst: c.Dst, Polarity: 1, Modality: "asserted",
			Extractor: extract.ClaimExtractor,
			Band:      "medium", SpanStart: &start, SpanEnd: &end, Weight: 1}
		if c.Denied {
			claim.Polarity = -1
		}
		if c.Reported {
			claim.Modality = "reported"
		}
		claims = append(claims, claim)
	}
	return extract.Version, names, claims
}
