package engine

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/extract"
	"github.com/cairndb/cairn/oplog/state"
)

// prepareDrafts decides all that Apply must not decide: ids, times, vectors, and what the texts name.
func (s *Service) prepareDrafts(ctx context.Context, c api.Caller, drafts []api.Draft) ([]*oplog.Remember, error) {
	dim, err := s.dimension(c.DB)
	if err != nil {
		return nil, err
	}
	ops := make([]*oplog.Remember, len(drafts))
	var texts []string
	var bare []int // without a vector of the client's
	for i := range drafts {
		if ops[i], err = ready(&drafts[i], time.Now(), dim); err != nil {
			return nil, err
		}
		if len(ops[i].Vector) == 0 {
			texts, bare = append(texts, ops[i].Text), append(bare, i)
		}
	}
	if len(bare) > 0 {
		vecs, err := s.embed(ctx, c, texts)
		if err != nil {
			return nil, err
		}
		for j, i := range bare {
			ops[i].Vector = vecs[j]
		}
	}
	return ops, s.withNames(c.DB, func(v *state.View) error {
		for _, op := range ops {
			readText(v, c.DB, op.Text).into(op)
		}
		return ctx.Err()
	})
}

// withNames gives f a view in which texts are linked to the names that a database knows; nil when it knows none.
func (s *Service) withNames(db oplog.DB, f func(*state.View) error) error {
	switch now, _, err := s.state.Current(db); {
	case err != nil:
		return err
	case now.Stats.Entities == 0:
		return f(nil)
	}
	return s.state.Read(f)
}

// reading is what a text names and states, for the entry that carries it.
type reading struct {
	entities []oplog.Mention
	claims   []oplog.Claim
}

func (r reading) into(op *oplog.Remember) {
	op.Extractor, op.Entities, op.Claims = extract.Version, r.entities, r.claims
}

// extract reads one text.
func (s *Service) extract(db oplog.DB, text string) (r reading, err error) {
	err = s.withNames(db, func(v *state.View) error {
		r = readText(v, db, text)
		return nil
	})
	return r, err
}

// sameNames bounds the entities that one folded form links to.
const sameNames = 4

// readText reads a text, and links it to the names that a view has, unless that is nil.
func readText(v *state.View, db oplog.DB, text string) (r reading) {
	var known func(string) []string
	if v != nil {
		known = func(folded string) []string { return v.EntitiesFolded(db, folded, sameNames) }
	}
	entities := extract.Link(text, extract.Entities(text), known)
	r.entities = make([]oplog.Mention, len(entities))
	for i, e := range entities {
		r.entities[i] = oplog.Mention{Name: e.Name, Type: e.Type}
	}
	for _, c := range extract.Claims(text, entities) {
		start, end := int64(c.Start), int64(c.End)
		claim := oplog.Claim{ID: oplog.NewID(), Src: c.Src, Type: c.Type, Dst: c.Dst, Polarity: 1, Modality: "asserted", Extractor: extract.ClaimExtractor,
			Band: "medium", SpanStart: &start, SpanEnd: &end, Weight: 1}
		if c.Denied {
			claim.Polarity = -1
		}
		if c.Reported {
			claim.Modality = "reported"
		}
		r.claims = append(r.claims, claim)
	}
	return r
}
