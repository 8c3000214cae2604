package index

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
)

// How far a search looks.
const (
	depth     = 1000   // rows by words, and as many by vector
	fillLimit = 10_000 // newest rows looked at to fill an answer that nothing matched
)

// Search answers a question, best first.
func (x *Index) Search(ctx context.Context, db oplog.DB, q Query) ([]Hit, Info, error) {
	d := x.database(db)
	if d == nil || q.K <= 0 {
		return nil, Info{}, nil
	}
	q.K = min(q.K, MaxK)
	found, info, err := d.search(q)
	if err != nil {
		return nil, info, err
	}
	if err := ctx.Err(); err != nil {
		return nil, info, err
	}
	hits := make([]Hit, 0, len(found))
	err = x.cfg.State.Read(func(v *oplog.View) error {
		for _, s := range found {
			// The state may be ahead of the index: what is gone by now is not shown.
			if m, ok := v.MemoryAt(db, s.seq); ok && m.Status != oplog.Tombstoned {
				hits = append(hits, Hit{Memory: m, Score: s.Score, Why: s.Why})
			}
		}
		return nil
	})
	return hits, info, err
}

type found struct {
	rank.Scored
	seq oplog.Seq
}

func (q *Query) admits(c *column) bool {
	switch {
	case c.dead,
		c.status == oplog.Consolidated && !q.Consolidated,
		len(q.Types) > 0 && !slices.Contains(q.Types, c.kind),
		q.Namespace != "" && q.Namespace != c.namespace,
		q.Domain != "" && q.Domain != c.domain,
		q.Source != "" && q.Source != c.source,
		q.Session != "" && q.Session != c.session,
		q.Private != "" && c.namespace != q.Within && strings.HasPrefix(c.namespace, q.Private),
		q.Tier != "" && q.Tier != c.tier,
		q.Owner != "" && q.Owner != c.owner,
		q.Since != 0 && c.Created < int64(q.Since),
		q.Until != 0 && c.Created > int64(q.Until),
		q.Admit != nil && !q.Admit(Facts{c.namespace, c.owner, c.tier, oplog.Time(c.Created)}):
		return false
	}
	return true
}

// search gathers candidates and ranks them. The columns are held still meanwhile.
func (d *database) search(q Query) ([]found, Info, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	in := inside{d: d, q: &q}
	question, cands, err := in.byWords()
	if err != nil {
		return nil, Info{}, err
	}
	cands = in.byVector(cands)
	sources := 0
	if len(cands) > 0 {
		sources = 1
	}
	if !q.Matched {
		cands = in.fill(cands)
	}
	set := rank.Defaults()
	set.Fill = false // vectors here are a real model's: the caller's own
	ranked := rank.Rank(question, set, cands, in)
	info := Info{Candidates: len(cands), Confidence: rank.Confidence(ranked, q.K, sources)}
	out := make([]found, len(ranked))
	for i, s := range ranked {
		out[i] = found{s, d.cols[s.Row].seq}
	}
	return out, info, nil
}

// inside is one question's view of a database; it is rank's Corpus.
type inside struct {
	d *database
	q *Query
}

func (in inside) keep(row uint32) bool {
	return int(row) < len(in.d.cols) && in.q.admits(&in.d.cols[row])
}

func (in inside) groups() []uint32 {
	if in.q.Namespace == "" {
		return nil
	}
	if ns := in.d.namespaces[in.q.Namespace]; ns != nil {
		return []uint32{ns.group}
	}
	return []uint32{0} // no row has it
}

// byWords finds the rows that have words of the question, with the statistics these are weighed by.
func (in inside) byWords() (rank.Question, []rank.Candidate, error) {
	groups := in.groups()
	terms := text.AnalyzeQuery(in.q.Text)
	stats, totals, err := in.d.words.TermStats(terms, groups)
	if err != nil {
		return rank.Question{}, nil, err
	}
	if len(stats) > maxTerms { // the rarest say the most; those nobody has say nothing
		slices.SortStableFunc(stats, func(a, b text.TermStat) int { return cmp.Compare(a.DF-1, b.DF-1) })
		stats = stats[:maxTerms]
		slices.SortFunc(stats, func(a, b text.TermStat) int { return cmp.Compare(a.Term, b.Term) })
	}
	question := rank.Question{Text: in.q.Text, Rows: totals.Rows, Now: in.q.Now.UnixMicro(), K: in.q.K}
	if totals.Rows > 0 {
		question.Average = float64(totals.Tokens) / float64(totals.Rows)
	}
	place := map[string]int{}
	terms = terms[:0]
	for i, s := range stats {
		place[s.Term] = i
		terms = append(terms, s.Term)
		question.Terms = append(question.Terms, rank.Term{DF: s.DF})
	}
	if len(terms) == 0 {
		return question, nil, nil
	}
	hits, err := in.d.words.Search(text.Query{Terms: terms, Groups: groups, Keep: in.keep, Tie: in.tie, K: depth, Explain: true})
	if err != nil {
		return question, nil, err
	}
	cands := make([]rank.Candidate, len(hits))
	for i, h := range hits {
		cands[i] = rank.Candidate{Row: h.Row, TF: make([]uint16, len(terms))}
		for _, m := range h.Terms {
			cands[i].TF[place[m.Term]] = m.TF
		}
	}
	return question, cands, nil
}

// tie orders rows that words cannot tell apart the same way on every replica.
func (in inside) tie(a, b uint32) int {
	x, y := &in.d.cols[a], &in.d.cols[b]
	return cmp.Or(cmp.Compare(y.Created, x.Created), cmp.Compare(x.RID, y.RID))
}

type near struct {
	row uint32
	sim float64
}

// byVector adds the rows nearest to the question's vector, and the similarity of those already found.
func (in inside) byVector(cands []rank.Candidate) []rank.Candidate {
	vec := unit(slices.Clone(in.q.Vector))
	if vec == nil || in.d.vectors == 0 {
		return cands
	}
	var all []near
	for row := range in.d.cols {
		c := &in.d.cols[row]
		if len(c.vector) == len(vec) && in.q.admits(c) {
			all = append(all, near{uint32(row), dot(vec, c.vector)})
		}
	}
	slices.SortFunc(all, func(a, b near) int { return cmp.Or(cmp.Compare(b.sim, a.sim), in.tie(a.row, b.row)) })
	sim := make(map[uint32]float64, len(all))
	for _, n := range all {
		sim[n.row] = n.sim
	}
	have := make(map[uint32]bool, len(cands))
	for i := range cands {
		have[cands[i].Row] = true
		cands[i].Vector, cands[i].HasVector = sim[cands[i].Row], hasKey(sim, cands[i].Row)
	}
	for _, n := range all[:min(len(all), depth)] {
		if !have[n.row] {
			cands = append(cands, rank.Candidate{Row: n.row, Vector: n.sim, HasVector: true})
		}
	}
	return cands
}

func hasKey(m map[uint32]float64, k uint32) bool {
	_, ok := m[k]
	return ok
}

// fill brings an answer up to the size asked for with the newest rows: weak rows are better than none.
func (in inside) fill(cands []rank.Candidate) []rank.Candidate {
	have := make(map[uint32]bool, len(cands))
	for _, c := range cands {
		have[c.Row] = true
	}
	for row, looked := len(in.d.cols)-1, 0; row >= 0 && looked < fillLimit && len(cands) < in.q.K; row, looked = row-1, looked+1 {
		if r := uint32(row); !have[r] && in.keep(r) {
			cands = append(cands, rank.Candidate{Row: r})
		}
	}
	return cands
}

// Row implements rank.Corpus.
func (in inside) Row(row uint32) rank.Row { return in.d.cols[row].Row }

// Near implements rank.Corpus.
func (in inside) Near(row uint32, by int) (uint32, bool) {
	c := &in.d.cols[row]
	if c.Session == 0 {
		return 0, false
	}
	rows := in.d.sessions[c.Session].rows
	at := c.place + by
	if at < 0 || at >= len(rows) || !in.keep(rows[at]) {
		return 0, false
	}
	return rows[at], true
}

// Sessions implements rank.Corpus.
func (in inside) Sessions() (int, float64) {
	var n, tokens uint64
	if in.q.Namespace != "" {
		if ns := in.d.namespaces[in.q.Namespace]; ns != nil {
			n, tokens = ns.sessions, ns.tokens
		}
	} else {
		for _, ns := range in.d.namespaces {
			n, tokens = n+ns.sessions, tokens+ns.tokens
		}
	}
	if n == 0 {
		return 0, 0
	}
	return int(n), float64(tokens) / float64(n)
}

// SessionLength implements rank.Corpus.
func (in inside) SessionLength(session uint32) float64 {
	return float64(in.d.sessions[session].tokens)
}
