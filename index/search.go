package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// Search answers a question, best first.
func (x *Index) Search(ctx context.Context, db oplog.DB, q Query) ([]Hit, Info, error) {
	d := x.database(db)
	if d == nil || q.K <= 0 {
		return nil, Info{}, nil
	}
	q.K = min(q.K, MaxK)
	found := d.search(ctx, q)
	if err := ctx.Err(); err != nil {
		return nil, Info{}, err
	}
	info := Info{Candidates: len(found)}
	found = found[:min(len(found), q.K)]
	hits := make([]Hit, 0, len(found))
	err := x.cfg.State.Read(func(v *oplog.View) error {
		for _, s := range found {
			// The state may be ahead of the index: what is gone by now is not shown.
			if m, ok := v.MemoryAt(db, s.row.seq); ok && m.Status != oplog.Tombstoned {
				hits = append(hits, Hit{Memory: m, Score: s.score, Why: s.why()})
			}
		}
		return nil
	})
	return hits, info, err
}

type scored struct {
	row     *row
	lexical float64
	sim     float64
	recency float64
	decay   float64
	score   float64
}

// why says how the row came into the answer.
func (s scored) why() (why []string) {
	if s.sim > 0.5 {
		why = append(why, fmt.Sprintf("semantically similar (%.2f)", s.sim))
	}
	if s.recency > 0.5 {
		why = append(why, "recent")
	}
	if s.decay > 0.3 {
		why = append(why, fmt.Sprintf("important (decay=%.2f)", s.decay))
	}
	if math.Abs(s.row.valence) > 0.5 {
		why = append(why, fmt.Sprintf("emotionally weighted (%.2f)", s.row.valence))
	}
	if len(why) == 0 {
		why = append(why, "matched query")
	}
	if s.lexical > 0 {
		why = append(why, "keyword_match")
	}
	return why
}

func (q *Query) admits(r *row) bool {
	switch {
	case r.status == oplog.Consolidated && !q.Consolidated,
		len(q.Types) > 0 && !slices.Contains(q.Types, r.kind),
		q.Namespace != "" && q.Namespace != r.namespace,
		q.Domain != "" && q.Domain != r.domain,
		q.Source != "" && q.Source != r.source,
		q.Session != "" && q.Session != r.session,
		q.Tier != "" && q.Tier != r.tier,
		q.Owner != "" && q.Owner != r.owner,
		q.Since != 0 && r.created < q.Since,
		q.Until != 0 && r.created > q.Until:
		return false
	}
	return true
}

func (d *database) search(ctx context.Context, q Query) []scored {
	d.mu.RLock()
	defer d.mu.RUnlock()
	lexical := d.lexical(q)
	vec := unit(slices.Clone(q.Vector))
	now := oplog.At(q.Now)
	var out []scored
	consider := func(r *row) {
		if !q.admits(r) {
			return
		}
		s := scored{row: r, lexical: lexical[r.seq]}
		if vec != nil && len(vec) == len(r.vector) {
			s.sim = max(0, dot(vec, r.vector))
		}
		s.recency = math.Exp(-max(0, (now-r.created).Seconds()) / (7 * 86400))
		if r.halfLife > 0 {
			s.decay = r.importance * math.Exp2(-max(0, (now-r.accessed).Seconds())/r.halfLife)
		}
		// Freshness is a bounded multiplier: a match never loses to a row that is merely newer.
		relevance := s.lexical + s.sim
		s.score = relevance * (1 + 0.05*s.recency + 0.05*min(s.decay, 1))
		s.score = math.Round(s.score*1e9) / 1e9
		out = append(out, s)
	}
	if vec != nil && d.vectors > 0 || len(lexical) < q.K {
		for _, r := range d.rows {
			consider(r)
		}
	} else {
		for seq := range lexical {
			consider(d.rows[seq])
		}
	}
	slices.SortFunc(out, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.row.created, a.row.created), cmp.Compare(a.row.rid, b.row.rid))
	})
	return out
}

// lexical scores every row that has a word of the question, between 0 and 1 for the best possible match.
func (d *database) lexical(q Query) map[oplog.Seq]float64 {
	terms := words(q.Text)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	terms = terms[:min(len(terms), maxTerms)]
	scores := map[oplog.Seq]float64{}
	n, avg := float64(len(d.rows)), float64(d.total)/max(1, float64(len(d.rows)))
	var top float64
	for _, t := range terms {
		df := float64(len(d.postings[t]))
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		top += idf * 1.9
		for seq := range d.postings[t] {
			r := d.rows[seq]
			tf := float64(r.words[t])
			scores[seq] += idf * tf * 1.9 / (tf + 0.9*(0.6+0.4*float64(r.length)/avg))
		}
	}
	for seq := range scores {
		scores[seq] /= top
	}
	return scores
}
