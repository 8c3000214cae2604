package index

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// How far a search looks.
const (
	depth         = 1000 // candidates found by words
	vectorDepth   = 100  // candidates found by vector; K if that is more
	precise       = 40   // of those, the ones compared by their float32 originals; 4·K if that is more
	parallelRows  = 4096 // least rows for searching words and vector at the same time: a goroutine costs some microseconds
	parallelCands = 128  // least candidates for each of two goroutines that compute their similarity
	attempts      = 3    // to capture a moment in which no row is being replaced
)

// Search answers a question, best first.
func (x *Index) Search(ctx context.Context, db oplog.DB, q Query) ([]Hit, Info, error) {
	for {
		if q.K <= 0 {
			return nil, Info{}, nil
		}
		d, err := x.acquire(db)
		if d == nil || err != nil {
			return nil, Info{}, err
		}
		d.used.Store(time.Now().UnixNano())
		hits, info, err := x.search(ctx, d, db, q)
		d.release()
		if !errors.Is(err, text.ErrClosed) {
			return hits, info, err
		} // a rebuild has replaced this database's index: search the new one
	}
}

// Count counts the memories that pass a filter.
func (x *Index) Count(db oplog.DB, f Filter) (n int, _ error) {
	err := x.withQuestion(db, f, func(in *question) { n = in.count() })
	return n, err
}

// withQuestion calls visit with a question that has only a filter, at a moment in which no row is being replaced, if
// a few attempts find one. visit may be called again.
func (x *Index) withQuestion(db oplog.DB, f Filter, visit func(in *question)) error {
	d, err := x.acquire(db)
	if d == nil || err != nil {
		return err
	}
	defer d.release()
	d.used.Store(time.Now().UnixNano())
	for range attempts {
		edits := d.edits.Load()
		in := d.capture(&Query{Filter: f})
		in.scratch = new(scratch)
		in.match = in.passing(f.Match)
		err := x.cfg.State.Read(func(v *state.View) error {
			in.view, in.db = v, db
			in.excludeExpired()
			visit(in)
			return nil
		})
		in.verdicts.release()
		if err != nil || edits == d.edits.Load() && edits%2 == 0 {
			return err
		}
	}
	return nil
}

func (x *Index) search(ctx context.Context, d *database, db oplog.DB, q Query) (hits []Hit, info Info, _ error) {
	active := x.searching.Add(1)
	defer x.searching.Add(-1)
	parallel := 2*int(active) <= cap(x.pool)
	q.K, q.Deep = min(q.K, MaxK), min(q.Deep, MaxK)
	lists := q.Lists()
	if slices.Contains(q.Without, "vector") {
		q.Vector = nil
	}
	q.Expand = q.Expand && !slices.Contains(q.Without, "graph")
	var asked text.AskedTime
	if !lists && !slices.Contains(q.Without, "date") {
		if asked = text.ParseAskedTime(q.Text, q.Now.UnixMicro()); asked.Since {
			q.Since = max(q.Since, oplog.Time(asked.From))
		}
	}
	buffers, _ := x.scratches.Get().(*scratch)
	if buffers == nil {
		buffers = new(scratch)
	}
	defer x.scratches.Put(buffers)
	for range attempts {
		edits := d.edits.Load()
		in := d.capture(&q)
		in.scratch, in.lists, in.asked = buffers, lists, asked
		in.used = 0
		in.match = in.passing(q.Match)
		// The state is read after the capture: it has every row of that moment.
		err := x.cfg.State.Read(func(v *state.View) (err error) {
			in.view, in.db = v, db
			in.excludeExpired()
			in.narrowStatistics()
			if hits, info, err = in.answer(x.pool, parallel); err == nil {
				err = ctx.Err()
			}
			return err
		})
		in.verdicts.release()
		if err != nil {
			return nil, info, err
		}
		if edits == d.edits.Load() && edits%2 == 0 {
			break
		}
	}
	if q.Pick != nil {
		hits = q.Pick(hits)
	}
	return hits, info, nil
}

// A scratch holds the buffers of one search. A pool reuses them.
type scratch struct {
	found  text.Found
	cands  []rank.Candidate
	ranker rank.Ranker
	bitmaps
}

// A question is a query's view of a database at one moment; it implements rank.Corpus. It holds no lock: columns
// never move, and the atomic fields say which rows were alive at the moment.
type question struct {
	d           *database
	q           *Query
	cols        columnView
	verdicts    verdicts
	all         bool // no filter is set
	lists       bool // the query has neither words nor a vector
	asked       text.AskedTime
	timeRows    []uint32 // rows of the time that the question names
	match       part     // of the question's filter
	seq         uint64   // the moment: rows that died later count as alive
	totals      sums     // of the question's namespaces, or of the database
	hasRows     bool     // the namespaces have rows
	boundGroups []uint32 // text groups of the namespaces that the question is bound to
	sessions    []*session
	view        *state.View
	db          oplog.DB
	expired     map[uint32]bool // rows of expired memories that no sweep has removed yet
	*scratch
}

// capture copies, under the read lock, the pointers that fix the moment of a search.
func (d *database) capture(q *Query) *question {
	in := &question{d: d, q: q, all: q.everything(d.facets), verdicts: newVerdicts(&q.Filter, d.facets)}
	d.mu.RLock()
	defer d.mu.RUnlock()
	in.cols, in.seq, in.sessions, in.totals, in.hasRows = d.cols.view(), d.seq, d.sessions, d.total, true
	if q.Namespace != "" {
		ns := d.namespaces[q.Namespace]
		if in.hasRows = ns != nil; in.hasRows {
			in.totals = *ns
		}
	}
	return in
}

// answer gathers candidates, ranks them, and reads the memories of the answer from the state. parallel is true if
// processors are idle, judged by the number of searches under way: words and vector are then searched at the same
// time.
func (in *question) answer(pool vector.Pool, parallel bool) ([]Hit, Info, error) {
	var ranking rank.Question
	var cands []rank.Candidate
	var near nearestRows
	var err error
	words := func() { ranking, cands, err = in.searchWords(in.findTimeRows()) }
	if parallel && in.q.Text != "" && len(in.q.Vector) > 0 && in.cols.n >= parallelRows {
		pool.RunBoth(words, func() { near = in.searchVectors(pool) }) // the view is this goroutine's: searchWords does not use it
	} else if words(); err == nil {
		near = in.searchVectors(pool)
	}
	if err != nil {
		return nil, Info{}, err
	}
	cands = near.join(cands, pool, parallel)
	if in.q.Expand {
		if cands, err = in.searchGraph(cands); err != nil {
			return nil, Info{}, err
		}
	}
	if ranking.List, ranking.Least = in.lists, in.q.MinScore; in.lists {
		cands = in.newestRows(cands)
	}
	in.cands = cands
	set, err := in.q.settings()
	if err != nil {
		return nil, Info{}, err
	}
	rows := max(in.q.K, in.q.Deep)
	if ranking.K = rows; in.q.Diverse {
		ranking.K = min(10*ranking.K, MaxK)
	}
	ranked := in.ranker.Rank(ranking, set, cands, in)
	info := Info{Considered: in.ranker.Tally.Considered, Matched: in.ranker.Tally.Matched, Below: in.ranker.Tally.Below}
	if in.q.Diverse {
		ranked = rank.Diverse(ranked, rows, in.likeness())
	}
	info.Confidence = rank.Confidence(ranked)
	answer, cut := in.hits(ranked)
	if info.Cut = cut; in.q.Explain {
		info.Left = in.left()
	}
	return answer, info, nil
}

// Keep reports whether a row was alive at the moment and passes the filters. Several goroutines of a search call it.
func (in *question) Keep(row uint32) bool {
	if row >= in.cols.n || !in.match.has(row) || !in.all && !in.verdicts.passes(in.cols.facet(row).Load()) { // most often the filter decides, so it is first
		return false
	}
	if died := in.cols.died(row).Load(); died != 0 && died <= in.seq {
		return false
	}
	return in.all || (in.expired == nil || !in.expired[row]) && (in.match.test == nil || in.match.test(row)) &&
		(!in.q.needsColumn() || in.admitsRow(row))
}

// filterRows removes the rows that Keep rejects, in place. A filter rejects most rows by their facets, so it looks up
// these verdicts first.
func (in *question) filterRows(rows []uint32) []uint32 {
	kept, verdicts := rows[:0], *in.verdicts.verdict
	for _, row := range rows {
		if row >= in.cols.n || !in.match.has(row) {
			continue
		}
		if f := in.cols.facet(row).Load(); int(f) < len(verdicts) && verdicts[f].Load() == rejected {
			continue
		}
		if in.Keep(row) {
			kept = append(kept, row)
		}
	}
	return kept
}

// admitsRow checks the filters that need the row's column, and the caller's own.
func (in *question) admitsRow(row uint32) bool {
	if !in.inSession(row) || !in.inWindow(row) {
		return false
	}
	if in.q.Admit == nil {
		return true
	}
	f := in.d.facets.at(in.cols.facet(row).Load())
	return in.q.Admit(Facts{f.namespace, f.owner, f.tier, oplog.Time(in.cols.at(row).Created)})
}

// inSession reports whether a row is of the query's session, if it names one.
func (in *question) inSession(row uint32) bool {
	n := in.cols.at(row).Session
	return in.q.Session == "" || n != 0 && in.sessions[n].session == in.q.Session
}

// inWindow reports whether a row was made between the query's Since and Until.
func (in *question) inWindow(row uint32) bool {
	created := in.cols.at(row).Created
	return (in.q.Since == 0 || created >= int64(in.q.Since)) && (in.q.Until == 0 || created <= int64(in.q.Until))
}

// settings returns the weights for ranking.
func (q *Query) settings() (rank.Settings, error) {
	set := rank.Defaults()
	if set.Fill = q.Hashed; q.Hashed { // unrelated texts collide in a few features: a cosine below two deviations is noise
		set.Near = min(2/math.Sqrt(float64(len(q.Vector))), .3)
	}
	if q.Weights != nil {
		set.Learn(*q.Weights)
	}
	for _, name := range q.Without {
		if !set.Off(name) {
			return set, oplog.Errorf(oplog.Invalid, "unknown signal %q: want one of %s", name, strings.Join(rank.Switches(), ", "))
		}
	}
	return set, nil
}

// likeness returns a function that measures how similar two rows are: by the cosine of their vectors or, if one has
// none, by the words that they share.
func (in *question) likeness() func(a, b uint32) float64 {
	store := in.d.vectors.Load()
	known := map[uint32][]string{}
	words := func(row uint32) []string {
		w, ok := known[row]
		if !ok {
			if m, found := in.view.MemoryAt(in.db, in.cols.at(row).seq); found {
				w = text.AnalyzeQuery(m.Words())
				slices.Sort(w)
				w = slices.Compact(w)
			}
			known[row] = w
		}
		return w
	}
	return func(a, b uint32) float64 {
		if store != nil {
			if cos, ok := store.Cosine(a, b); ok {
				return max(0, cos)
			}
		}
		x, y := words(a), words(b)
		if len(x)+len(y) == 0 {
			return 0
		}
		both := 0
		for i, j := 0, 0; i < len(x) && j < len(y); {
			switch c := strings.Compare(x[i], y[j]); {
			case c < 0:
				i++
			case c > 0:
				j++
			default:
				both, i, j = both+1, i+1, j+1
			}
		}
		return 2 * float64(both) / float64(len(x)+len(y))
	}
}

// searchWords finds the rows that have words of the question, and the statistics for weighing the words.
func (in *question) searchWords(words string) (rank.Question, []rank.Candidate, error) {
	keep := in.Keep
	if in.all { // the text index itself leaves out dead rows
		keep = func(row uint32) bool { return row < in.cols.n }
	}
	if stops := text.Stops(words); stops != 0 && text.StopsAlone(words) {
		ranking, cands := in.searchStops(stops)
		return ranking, cands, nil
	}
	found := &in.found
	err := in.d.words.Find(text.Query{Text: words, Groups: in.groups(), Keep: keep, Order: in.newest, Tie: in.tie,
		K: max(depth, in.q.K), MaxDF: in.q.MaxDF, Exact: in.q.MaxDF > 0}, found)
	if err != nil {
		return rank.Question{}, nil, err
	}
	question := in.rankQuestion(found.Totals)
	n := len(found.Terms)
	for _, t := range found.Terms {
		question.Terms = append(question.Terms, rank.Term{DF: t.DF, Share: t.Share, Light: text.Light(t.Term)})
	}
	cands := in.cands[:0]
	for i, row := range found.Rows {
		cands = append(cands, rank.Candidate{Row: row, Length: found.Lengths[i], TF: found.TF[i*n : (i+1)*n]})
	}
	if len(in.timeRows) > 0 {
		cands = in.addTimeTerm(&question, cands)
	}
	return question, cands, nil
}

// rankQuestion returns the question for package rank, without its terms. rows are the statistics of its namespaces.
func (in *question) rankQuestion(rows text.Totals) rank.Question {
	q := rank.Question{Text: in.q.Text, Rows: rows.Rows, Now: in.q.Now.UnixMicro(), K: in.q.K,
		When: text.AsksWhen(in.q.Text), Asked: in.asked}
	if rows.Rows > 0 {
		q.Average = float64(rows.Tokens) / float64(rows.Rows)
	}
	return q
}

// newest returns a key that orders rows by creation time, the newest first. tie compares creation times first as
// well.
func (in *question) newest(row uint32) int64 { return ^in.cols.at(row).Created }

// tie orders rows that words cannot tell apart the same way on every replica.
func (in *question) tie(a, b uint32) int {
	if a >= in.cols.n || b >= in.cols.n { // added after the moment: Keep rejects it
		return cmp.Compare(a, b)
	}
	x, y := in.cols.at(a), in.cols.at(b)
	if x.Created != y.Created {
		return cmp.Compare(y.Created, x.Created)
	}
	return x.RID.Compare(y.RID)
}
