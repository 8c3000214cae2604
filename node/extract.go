package node

import (
	"context"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/extract"
)

// settleDrafts decides all that must not be decided in Apply: ids, times, vectors, and what the texts name.
func (s *Service) settleDrafts(ctx context.Context, c Caller, drafts []Draft) ([]*oplog.Remember, error) {
	dim, err := s.dimension(c.DB)
	if err != nil {
		return nil, err
	}
	ops := make([]*oplog.Remember, len(drafts))
	var texts []string
	var bare []int // without a vector of the client's
	for i := range drafts {
		if ops[i], err = drafts[i].settle(time.Now(), dim); err != nil {
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
	return ops, s.state.Read(func(v *oplog.View) error {
		for _, op := range ops {
			op.Extractor, op.Entities = extract.Version, mentions(v, c.DB, op.Text)
		}
		return ctx.Err()
	})
}

// extract is what a text names, for the entry that carries it.
func (s *Service) extract(db oplog.DB, text string) (version uint8, found []oplog.Mention, err error) {
	err = s.state.Read(func(v *oplog.View) error {
		found = mentions(v, db, text)
		return nil
	})
	return extract.Version, found, err
}

// sameNames bounds the entities that one folded form links to.
const sameNames = 4

func mentions(v *oplog.View, db oplog.DB, text string) []oplog.Mention {
	entities := extract.Link(text, extract.Entities(text), func(folded string) []string { return v.EntitiesFolded(db, folded, sameNames) })
	out := make([]oplog.Mention, len(entities))
	for i, e := range entities {
		out[i] = oplog.Mention{Name: e.Name, Type: e.Type}
	}
	return out
}
