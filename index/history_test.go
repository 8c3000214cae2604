package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
)

// log turns operations into records, one entry each.
type log struct {
	t       testing.TB
	records []oplog.Record
}

func newLog(t testing.TB) *log {
	l := &log{t: t}
	l.add(0, &oplog.Init{Cluster: "c", At: oplog.At(now)})
	return l
}

func (l *log) add(db oplog.DB, ops ...oplog.Op) {
	l.t.Helper()
	body, err := oplog.Entry{Node: 1, DB: db, Ops: ops}.Encode()
	must(l.t, err)
	n := uint64(len(l.records) + 1)
	l.records = append(l.records, oplog.Record{Index: oplog.Index(n), Term: 1,
		Data: oplog.EncodeRecord(oplog.MakeHLC(1_700_000_000_000+n, 0, 1), body)})
}

// timeAfter returns the time of the log after some more records.
func (l *log) timeAfter(records int) oplog.Time {
	return oplog.Time(1_700_000_000_000+len(l.records)+records) * 1000
}

func remember(rid, text string) *oplog.Remember {
	return &oplog.Remember{Content: oplog.Content{RID: rid, Text: text, Namespace: "default", Importance: .5,
		HalfLife: 604800, Type: "semantic",
		Created: oplog.At(now)}}
}

var vocabulary = strings.Fields(`garden river violin harbor winter letter bridge candle market engine painter doctor island
	forest window recipe journey teacher library orchard glacier lantern village thunder silver copper meadow castle`)

// endings are added to texts, so that rows contain times, refer to earlier rows, or name somebody.
var endings = []string{"", " yesterday", " with them", " last Friday", "", " two weeks ago", "", " for Maria Lopez",
	" as Ines Weber wished"}

const dim = 24

// history returns a log that moves rows in every way: sessions, vectors, corrections, moves, splits, forgetting,
// expiry, reinforcement, relations, aliases.
func history(t testing.TB, n int) *log {
	l := newLog(t)
	next := story(l, 1, n)
	for range n {
		next()
	}
	return l
}

// story returns a function that adds the next of n entries to the history of a database.
func story(l *log, db oplog.DB, n int) (next func()) {
	rng := rand.New(rand.NewPCG(6+uint64(db), 8))
	words := func(k int) string {
		var w []string
		for range k {
			w = append(w, vocabulary[rng.IntN(len(vocabulary))])
		}
		return strings.Join(w, " ")
	}
	vec := func() oplog.Vector {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return oplog.MakeVector(v)
	}
	var rids, expire []string
	revisions, held := map[string]uint32{}, map[string]bool{}
	i := -1
	return func() {
		i++
		at := oplog.At(now.Add(time.Duration(i-n) * time.Hour))
		switch rng.IntN(12) {
		case 0:
			if len(rids) > 3 {
				text := words(6)
				op := &oplog.Correct{RID: rids[rng.IntN(len(rids))], Text: &text, Reason: "better", At: at}
				if rng.IntN(2) == 0 {
					op.Vector = vec()
				}
				if i%2 == 0 {
					op.Attributes = attributes(i)
				}
				if i%3 == 0 {
					op.Namespace = new([]string{"default", "alpha", "beta"}[i/3%3])
				}
				if i%5 < 2 {
					op.Searchable = new(i%5 == 0)
				}
				op.Release = held[op.RID] && i%2 == 0
				l.add(db, op)
				revisions[op.RID]++
				held[op.RID] = held[op.RID] && !op.Release
				return
			}
		case 1:
			if len(rids) > 3 {
				k := rng.IntN(len(rids))
				l.add(db, &oplog.Forget{RID: rids[k], At: at})
				rids = slices.Delete(rids, k, k+1)
				return
			}
		case 5:
			if k := rng.IntN(len(rids) + 1); i%3 == 0 && k < len(rids) && !held[rids[k]] {
				from, one, two := oplog.Grounds{RID: rids[k], Revision: revisions[rids[k]]}, remember(fmt.Sprint("one", i), words(8)), remember(fmt.Sprint("two", i), words(8))
				one.Session = []string{"", "default/3"}[i%2]
				l.add(db, &oplog.Recast{Sources: []oplog.Grounds{from}, Into: []oplog.Remember{*one, *two}, At: at})
				rids = slices.Delete(rids, k, k+1)
				if from.Revision++; i%2 == 0 {
					l.add(db, &oplog.TakeBack{Made: []oplog.Grounds{{RID: one.RID}, {RID: two.RID}},
						Sources: []oplog.Grounds{from}, At: at})
				} else {
					rids = append(rids, one.RID, two.RID)
				}
				return
			}
		case 2:
			if len(rids) > 3 {
				l.add(db, &oplog.Reinforce{Hits: []oplog.Hit{{RID: rids[rng.IntN(len(rids))], Count: 2, At: at}}})
				return
			}
		case 4:
			if i%3 == 0 { // some of those that are due
				n := min(len(expire), 8)
				l.add(db, &oplog.Sweep{RIDs: expire[:n]})
				expire = append(expire[n:], expire[:n]...) // none of them may be due yet
				return
			}
		case 3:
			if i%5 == 0 {
				l.add(db, &oplog.Alias{Namespace: "default", Alias: []string{"Mia", "Wise Ines"}[i/5%2],
					Canonical: []string{"Maria Lopez", "Ines Weber"}[i/5%2], Source: "explicit", At: at})
				return
			}
			a, b := vocabulary[rng.IntN(len(vocabulary))], vocabulary[rng.IntN(len(vocabulary))]
			l.add(db, &oplog.Relate{ID: fmt.Sprint("e", i), Src: a, Dst: b, Type: "near", Weight: .5, At: at})
			return
		}
		m := remember(fmt.Sprintf("m%05d", i), words(4+rng.IntN(12))+endings[i%len(endings)]+fmt.Sprint(" topic", i%61))
		m.Created, m.Importance, m.Attributes = at, rng.Float64(), attributes(i)
		m.Namespace = []string{"default", "alpha", "beta"}[rng.IntN(3)]
		m.Domain = []string{"", "work", "home"}[rng.IntN(3)]
		m.Source = []string{"user", "document"}[rng.IntN(2)]
		if rng.IntN(3) > 0 {
			m.Session = fmt.Sprint(m.Namespace, "/", rng.IntN(12))
			m.Speaker = []string{"Ada", "Bob"}[rng.IntN(2)]
		}
		if rng.IntN(4) > 0 {
			m.Vector = vec()
		}
		m.Unsearchable, m.Held = i%17 == 5, i%19 == 7
		held[m.RID] = m.Held
		m.Stamp = oplog.Stamp{Writer: []string{"", "ada"}[i%2], Dialect: "http", Agent: []string{"", "planner"}[i%3%2],
			Trust: append(oplog.TrustClasses, "")[i%5]}
		if i%7 == 3 {
			m.Expires, expire = l.timeAfter(60+i%40), append(expire, m.RID)
		} else {
			rids = append(rids, m.RID)
		}
		l.add(db, m)
	}
}

// attributes returns the attributes of the i-th memory of a history: values that few or many share, a list, a date,
// or none.
func attributes(i int) []byte {
	if i%5 == 0 {
		return nil
	}
	raw := fmt.Sprintf(`{"due":%q,"id":"id-%d","n":%d,"project":"p%d"}`, now.AddDate(0, 0, i%17).Format(time.DateOnly), i, i%13, i%7)
	if i%3 == 0 {
		raw = fmt.Sprintf(`{"n":%d,"tags":["t%d","t%d"]}`, i%13, i%4, i%6)
	}
	return []byte(raw)
}

// filters cover every operator, and fields of columns and of facets.
var filters = []string{
	`{"project":"p3"}`,
	`{"n":{"gte":4,"lt":9}}`,
	`{"not":{"project":{"in":["p1","p2"]}}}`,
	`{"id":"id-77"}`,
	`{"tags":"t2"}`,
	`{"or":[{"tags":{"contains":"t1"}},{"due":{"lte":"2026-03-04"}}]}`,
	`{"project":{"exists":false},"@importance":{"gt":0.4}}`,
	`{"or":[{"@created_at":{"gt":"2026-02-01"}},{"id":{"prefix":"id-1"}}],"@memory_type":"semantic"}`,
	`{"@namespace":{"ne":"beta"},"@session_id":{"exists":true},"n":{"nin":[1,2]}}`,
	`{"tags":{"icontains":"T1"},"@updated_at":{"gte":"2026-01-05"}}`,
	`{"@trust":{"in":["tool","web"]},"@writer":"ada"}`,
	`{"@agent":{"exists":false},"@dialect":"http","not":{"@trust":"operator"}}`,
	`{"not":{"or":[{"@domain":"work"},{"@session_id":"alpha/3"}]}}`,
	`{}`,
}

func parsed(t testing.TB, raw string) *filter.Filter {
	t.Helper()
	f, err := filter.Parse([]byte(raw))
	must(t, err)
	return f
}

// questions cover words, times, vectors, the graph and every filter.
func questions() (qs []index.Query) {
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range 120 {
		q := index.Query{K: 1 + rng.IntN(30), Now: now,
			Text: vocabulary[rng.IntN(len(vocabulary))] + " " + vocabulary[rng.IntN(len(vocabulary))]}
		if i%3 == 0 {
			q.Vector = make([]float32, dim)
			for k := range q.Vector {
				q.Vector[k] = float32(rng.NormFloat64())
			}
		}
		switch {
		case i%9 == 0:
			q.Text = ""
		case i%10 == 4:
			q.Text = []string{"what are they with", "is it them"}[i/10%2]
		case i%5 == 2:
			q.Text = "when " + q.Text
		case i%5 == 1:
			q.Text = strings.Fields(q.Text)[i%2] + []string{" yesterday", " last week", " since last month", " 3 days ago"}[i/5%4]
		case i%5 == 3:
			q.Text += now.AddDate(0, 0, -i/10).Format(" on 2 January 2006")
		}
		if q.Expand = i%4 == 0; i%12 == 8 {
			q.Text += []string{" Maria Lopez", " of Ines Weber", " Weber", " Mia"}[i/12%4]
		}
		switch i % 8 {
		case 1:
			q.Namespace = "alpha"
		case 2:
			q.Domain = "work"
		case 3:
			q.Source = "document"
		case 4:
			q.Since, q.Until = oplog.At(now.Add(-300*time.Hour)), oplog.At(now.Add(-50*time.Hour))
		case 5:
			q.Namespace, q.Session = "beta", "beta/3"
		case 6:
			q.Namespace = "nobody's"
		}
		if i%7 == 3 {
			q.Match, _ = filter.Parse([]byte(filters[i/7%len(filters)]))
		}
		qs = append(qs, q)
	}
	return qs
}
