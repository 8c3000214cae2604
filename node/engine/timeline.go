package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/fold"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

const day = 24 * time.Hour

// dayTime is the length of a day in the log's unit.
const dayTime = oplog.Time(day / time.Microsecond)

// staleImportance is the least importance of a memory that counts as stale.
const staleImportance = .3

// parseDays rejects an invalid number of days, or one too large for the log's unit.
func parseDays(days float64) (oplog.Time, error) {
	if !(days >= 0 && days <= 36_500) { // false for NaN too
		return 0, &api.Refusal{Code: "invalid_query_parameter", Err: oplog.Errorf(oplog.Invalid, "days: want a number from 0 to 36500")}
	}
	return oplog.Time(days * float64(dayTime)), nil
}

// staleMemories returns important memories that were not recalled for so many days, the most important first.
func (s *Service) staleMemories(v *state.View, c api.Caller, q *api.StaleRequest) (*api.MemoryItems, error) {
	silent, err := parseDays(q.Days)
	if err != nil {
		return nil, err
	}
	cutoff := oplog.At(s.now()) - silent
	// A memory that was not recalled for that long is at least that old: the scan begins at the oldest, and is bounded.
	rows, cut := state.Collect(state.MaxScan, outlined(func(f func(*oplog.Memory) bool) { v.Between(c.DB, firstPlace, cutoff, f) }),
		func(m *oplog.Memory) bool {
			return m.Status == oplog.Active && m.Accessed < cutoff && m.Importance >= staleImportance && c.Reach(q.Namespace).Has(m.Namespace)
		})
	slices.SortStableFunc(rows, func(a, b *oplog.Memory) int {
		return cmp.Or(cmp.Compare(b.Importance, a.Importance), cmp.Compare(a.Accessed, b.Accessed), cmp.Compare(a.RID, b.RID))
	})
	return itemsOf(v, c, rows, api.Limit(q.Limit), cut), nil
}

// firstPlace is the position before all memories.
var firstPlace = state.TimePosition{At: oplog.FirstTime}

// itemsOf returns the first n memories of a list of outlines that fit the budget. cut means that the list was made
// from the first rows of a walk only.
func itemsOf(v *state.View, c api.Caller, outlines []*oplog.Memory, n int, cut bool) *api.MemoryItems {
	list, left := readFull(v, c.DB, outlines[:min(len(outlines), n)], c.Hold)
	a := &api.MemoryItems{Items: api.Each(list, memoryOf), Count: len(list), Left: left}
	if a.Bounded = api.Ended(len(list), len(outlines) > n, narrower); cut {
		a.Bounded = api.Cut(state.MaxScan, "memories", "the list of all memories continues with cursors")
	}
	return a
}

// narrower returns a suggestion for how to see the rows that did not fit into a list.
const narrower = "narrow the request"

// pageByTime returns a page of a walk by time that fits the budget. keyed returns the position of a row in the walk.
func pageByTime(c api.Caller, cursor string, limit int, walk func(from state.TimePosition, f func(*oplog.Memory) bool),
	from state.TimePosition, keyed func(*oplog.Memory) oplog.Time, wanted func(*oplog.Memory) bool) (*api.MemoryItems, error) {
	if cursor != "" {
		var err error
		if from, err = parseCursor(cursor); err != nil {
			return nil, err
		}
		from.Seq++ // behind it
	}
	a, n, r, stands := &api.MemoryItems{Items: []api.Memory{}}, api.Limit(limit), byteBudget{hold: c.Hold}, timeScan{}
	walk(from, func(m *oplog.Memory) bool {
		if stands.atLimit() {
			return false
		}
		if wanted(m) {
			if stands.cut = len(a.Items) == n || !r.reserve(m.Weight()); stands.cut {
				return false
			}
			a.Items = append(a.Items, memoryOf(m))
		}
		stands.advance(c, m, keyed(m))
		return true
	})
	if a.Count, a.Left = len(a.Items), r.full; stands.cut {
		a.Cursor = stands.cursor()
	}
	return a, nil
}

// outlined converts a walk over memories to one over their outlines.
func outlined(walk func(func(*oplog.Memory) bool)) func(func(*oplog.Memory) bool) {
	return func(f func(*oplog.Memory) bool) {
		walk(func(m *oplog.Memory) bool { return f(outline(m)) })
	}
}

// upcoming returns the memories that are due within so many days, the soonest first.
func (s *Service) upcoming(v *state.View, c api.Caller, q *api.UpcomingRequest) (*api.MemoryItems, error) {
	ahead, err := parseDays(q.Days)
	if err != nil {
		return nil, err
	}
	now := oplog.At(s.now())
	return pageByTime(c, q.Cursor, q.Limit, func(from state.TimePosition, f func(*oplog.Memory) bool) { v.Due(c.DB, from, now+ahead, f) },
		state.TimePosition{At: now}, func(m *oplog.Memory) oplog.Time { return m.Due },
		func(m *oplog.Memory) bool { return m.Status == oplog.Active && c.Reach(q.Namespace).Has(m.Namespace) })
}

// chronology returns the memories stored in a period, the oldest first.
func (s *Service) chronology(v *state.View, c api.Caller, q *api.ChronologyRequest) (*api.MemoryItems, error) {
	if err := field.Ordered("from", q.From.Time, "to", q.To.Time); err != nil {
		return nil, &api.Refusal{Code: "invalid_query_parameter", Err: oplog.Errorf(oplog.Invalid, "%s", err)}
	}
	from, to := firstPlace, oplog.At(s.now())+1
	if !q.From.IsZero() {
		from.At = oplog.At(q.From.Time)
	}
	if !q.To.IsZero() {
		to = oplog.At(q.To.Time)
	}
	wanted := func(m *oplog.Memory) bool {
		return !m.Unlisted() && m.Created >= from.At && m.Created < to && c.Reach(q.Namespace).Has(m.Namespace) &&
			(q.Type == "" || q.Type == m.Type)
	}
	if q.Entity == "" {
		return pageByTime(c, q.Cursor, q.Limit, func(from state.TimePosition, f func(*oplog.Memory) bool) { v.Between(c.DB, from, to, f) }, from,
			func(m *oplog.Memory) oplog.Time { return m.Created }, wanted)
	}
	if q.Cursor != "" {
		return nil, oplog.Errorf(oplog.Invalid, "cursor: the memories of an entity have none")
	}
	names := v.ResolveName(c.DB, orDefault(q.Namespace), q.Entity)
	rows, cut := state.Collect(state.MaxScan, outlined(func(f func(*oplog.Memory) bool) { v.MemoriesOfAll(c.DB, names, f) }), wanted)
	slices.SortStableFunc(rows, func(a, b *oplog.Memory) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Seq, b.Seq))
	})
	return itemsOf(v, c, rows, api.Limit(q.Limit), cut), nil
}

// timeline returns the memories stored shortly before and after a memory in its namespace, oldest first.
func (s *Service) timeline(v *state.View, c api.Caller, q *api.TimelineRequest) (*api.MemoryList, error) {
	m, ok := v.Memory(c.DB, q.RID)
	if !ok {
		return nil, oplog.ErrNoMemory
	}
	beside, cut := v.Around(c.DB, m, min(max(q.Limit, 1), 100), outline)
	list, more := readFull(v, c.DB, beside, c.Hold)
	a := &api.MemoryList{Memories: api.Each(list, memoryOf), Left: more}
	if cut {
		a.Bounded = api.Cut(len(list), "memories near it", "those of its namespace are far apart, and the list of all memories continues with cursors")
	}
	return a, nil
}

// entities lists names. A page looks at maxNamed of them, and the next one continues. There is one page alone of names
// that are sorted otherwise, or that are a namespace's.
func (s *Service) entities(v *state.View, c api.Caller, q *api.EntitiesRequest) (*api.EntityList, error) {
	sorted, text := q.Sort == "mentions", fold.Lower(q.Search)
	if sorted && q.After != "" {
		return nil, oplog.Errorf(oplog.Invalid, "after: only the order of names has further pages")
	}
	has := func(name string) bool { return strings.Contains(fold.Lower(name), text) }
	a, most := &api.EntityList{Entities: []api.Entity{}}, min(max(q.Limit, 1), api.MaxList)
	if r := c.Reach(q.Namespace); !r.All() {
		all, cut := namesWithin(v, c.DB, r)
		a.Entities = slices.DeleteFunc(all, func(e api.Entity) bool { return !has(e.Name) || e.Name <= q.After })
		if cut {
			a.Bounded = api.Cut(maxNamed, "memories, the newest,", "names of older ones are in their memories")
		}
	} else {
		a.Next = namesOf(v, c.DB, q, a, has, most)
		if a.Next != nil && sorted {
			a.Bounded = api.Cut(maxNamed, "names", "search for a name, or list them by name, page by page")
		}
	}
	if sorted {
		slices.SortStableFunc(a.Entities, func(a, b api.Entity) int { return cmp.Compare(b.Mentions, a.Mentions) })
		if a.Next = nil; a.Incomplete == "" {
			a.Bounded = api.Ended(most, len(a.Entities) > most, "list them by name, page by page")
		}
	}
	if len(a.Entities) > most {
		if a.Entities = a.Entities[:most]; !sorted {
			a.Next = &a.Entities[most-1].Name
		}
	}
	return a, nil
}

// beforeNames is the cursor in front of every name: a page that is full without a name of the walk is the first one,
// and a blank cursor would ask for it again.
const beforeNames = "\x00"

// namesOf adds the names of a database that pass to a list: in the first page what is named so in another case, then
// what has the text behind the last page, in the order of names. next is where the next page begins.
func namesOf(v *state.View, db oplog.DB, q *api.EntitiesRequest, a *api.EntityList, has func(string) bool, most int) (next *string) {
	add := func(e oplog.Entity) {
		a.Entities = append(a.Entities, api.Entity{Name: e.Name, Type: e.Type, Mentions: e.Mentions, Last: e.Last.Seconds()})
	}
	whole, looked, last := v.EntitiesFolded(db, fold.Lower(q.Search), most), 0, beforeNames
	if q.After == "" {
		for _, name := range whole {
			if e, ok := v.Entity(db, name); ok {
				add(e)
			}
		}
	}
	v.Entities(db, q.After, func(e oplog.Entity) bool {
		if looked == maxNamed || len(a.Entities) >= most && q.Sort != "mentions" {
			next = &last
			return false
		}
		looked++
		if last = e.Name; has(e.Name) && !slices.Contains(whole, e.Name) {
			add(e)
		}
		return true
	})
	return next
}

// around serves models: it returns a timeline, or the newest memories when no memory is named.
func (s *Service) around(v *state.View, c api.Caller, q *api.AroundRequest) (*api.MemoryList, error) {
	n := min(q.Limit, index.MaxK)
	if q.RID != "" {
		return s.timeline(v, c, &api.TimelineRequest{RID: q.RID, Limit: n})
	}
	l := newestMemories(v, c, q.Namespace, n)
	a := &api.MemoryList{Memories: api.Each(l.rows, memoryOf), Left: l.more && len(l.rows) < n}
	if l.cursor != "" && !l.more {
		a.Bounded = api.Cut(maxScan, "memories, the newest,", "the list of all memories continues with cursors")
	}
	return a, nil
}

func (s *Service) tellStatus(v *state.View, c api.Caller, _ *api.ReadRequest) (*api.StatusAnswer, error) {
	st := statsOf(v, c.DB, c.Reach(""))
	_, led := s.commit.Leader()
	return &api.StatusAnswer{Active: st.Active, Entities: st.Entities, Edges: st.Edges, Database: c.Database, Writes: led,
		NodeID: s.cfg.Member.NodeID}, nil
}
