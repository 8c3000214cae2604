package engine

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// questionLog counts the questions that clients asked this node and how well it answered them, so that an operator can
// see what clients ask often and the database answers badly. It is held in memory only: a restart loses it, and no
// question is logged or replicated.
type questionLog struct {
	mu  sync.Mutex
	all map[question]*questionStats
}

type question struct {
	db              oplog.DB
	namespace, text string // as folded below
}

type questionStats struct {
	text     string // the text of the last request
	count    uint64
	top, got float64 // sums: of the best scores, of the rows
	last     time.Time
}

// Bounds of the table. When it is full, it drops the eighth of its questions that were asked longest ago.
const (
	maxAsked     = 4096
	maxAskedText = 1024 // bytes; longer questions are rarely asked twice
)

func newQuestionLog() *questionLog { return &questionLog{all: map[question]*questionStats{}} }

func foldText(text string) string { return strings.Join(strings.Fields(strings.ToLower(text)), " ") }

func (k *questionLog) note(db oplog.DB, namespace, text string, hits []index.Hit, at time.Time) {
	folded := foldText(text)
	if folded == "" || max(len(text), len(folded)) > maxAskedText { // both are kept
		return
	}
	top := 0.0
	if len(hits) > 0 {
		top = hits[0].Score
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	q := question{db, orDefault(namespace), folded}
	a := k.all[q]
	if a == nil {
		if len(k.all) >= maxAsked {
			k.shrink()
		}
		a = &questionStats{}
		k.all[q] = a
	}
	a.text, a.count, a.last = text, a.count+1, at
	a.top, a.got = a.top+top, a.got+float64(len(hits))
}

// shrink drops the oldest questions. The caller holds mu.
func (k *questionLog) shrink() {
	times := make([]time.Time, 0, len(k.all))
	for _, a := range k.all {
		times = append(times, a.last)
	}
	slices.SortFunc(times, time.Time.Compare)
	old := times[len(times)/8]
	for q, a := range k.all {
		if !a.last.After(old) {
			delete(k.all, q)
		}
	}
}

// gaps returns all questions of this node.
func (k *questionLog) gaps(db oplog.DB, r oplog.Reach) (list []api.Gap) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for q, a := range k.all {
		if q.db == db && r.Has(q.namespace) {
			n := float64(a.count)
			list = append(list,
				api.Gap{Query: a.text, Count: a.count, Top: a.top / n, Results: a.got / n, Last: oplog.At(a.last).Seconds()})
		}
	}
	return list
}

// Defaults of a request for gaps.
const (
	gapCount = 2
	gapTop   = 0.5
)

// gaps lists the questions of this node and of the others.
func (s *Service) gaps(ctx context.Context, c api.Caller, q *api.GapsRequest) (*api.GapList, error) {
	lists := [][]api.Gap{s.questions.gaps(c.DB, c.Reach(q.Namespace))}
	if !q.Here && !c.Asked {
		for _, got := range askOthers(s, api.Gaps)(ctx, c,
			&api.GapsRequest{Namespace: q.Namespace, MaxTop: math.MaxFloat64, Limit: api.MaxList, Here: true}) {
			if got != nil {
				lists = append(lists, got.Gaps)
			}
		}
	}
	list := mergeGaps(lists, q)
	return &api.GapList{Count: len(list), Gaps: list}, nil
}

// mergeGaps adds up the questions of several nodes or namespaces, and returns those that match the request, the most
// frequent first.
func mergeGaps(lists [][]api.Gap, q *api.GapsRequest) []api.Gap {
	by := map[string]api.Gap{}
	for _, gap := range slices.Concat(lists...) {
		key := foldText(gap.Query)
		if old, ok := by[key]; ok {
			n, m := float64(old.Count), float64(gap.Count)
			gap.Top, gap.Results = (old.Top*n+gap.Top*m)/(n+m), (old.Results*n+gap.Results*m)/(n+m)
			gap.Count += old.Count
			if old.Last > gap.Last {
				gap.Last, gap.Query = old.Last, old.Query
			}
		}
		by[key] = gap
	}
	list := []api.Gap{}
	for _, gap := range by {
		if gap.Count >= q.MinCount && gap.Top <= q.MaxTop {
			gap.LastISO = iso(oplog.Time(gap.Last * 1e6))
			list = append(list, gap)
		}
	}
	slices.SortFunc(list, func(a, b api.Gap) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Top, b.Top), cmp.Compare(a.Query, b.Query))
	})
	return list[:min(len(list), q.Limit, api.MaxList)]
}
