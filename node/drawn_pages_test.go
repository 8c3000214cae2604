package node_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// A pager describes a paged list: the names of the cursor in the answer and in the next request.
type pager struct {
	rows, id   string // the list in the answer, and the key of its rows
	gives, has string
	most       int // rows of a page
	still      bool
	filters    [][2]string // parameters that a walk may have, with their values
}

// Filters that lists have in common.
var (
	atWork   = [2]string{"namespace", "work"}
	episodes = [2]string{"memory_type", "episodic"}
	onlyRed  = [2]string{"filter", `{"color":"red"}`}
	ofUsers  = [2]string{"source", "user"}
)

// pagers are the lists with pages, by the path of their operation.
var pagers = map[string]pager{
	"/v1/memories":                 {"items", "rid", "cursor", "cursor", 200, false, [][2]string{atWork, episodes, onlyRed, ofUsers}},
	"/v1/memories?sort=importance": {"items", "rid", "next_offset", "offset", 200, true, [][2]string{atWork, episodes, onlyRed}},
	"/v1/memories?sort=created_at": {"items", "rid", "next_offset", "offset", 200, true, [][2]string{atWork, episodes, onlyRed}},
	"/v1/records":                  {"records", "rid", "next_cursor", "since_rid", 200, false, [][2]string{atWork, episodes, onlyRed}},
	"/v1/records?order=asc":        {"records", "rid", "next_cursor", "since_rid", 200, false, [][2]string{atWork, episodes, onlyRed}},
	"/v1/chronology":               {"items", "rid", "cursor", "cursor", api.MaxList, false, [][2]string{atWork, episodes}},
	"/v1/upcoming?days=30000":      {"items", "rid", "cursor", "cursor", api.MaxList, false, [][2]string{atWork}},
	"/v1/namespaces":               {"namespaces", "name", "next", "after", api.MaxList, false, nil},
	"/v1/values?attribute=color":   {"values", "value", "next", "after", api.MaxList, false, [][2]string{atWork}},
	"/v1/keys":                     {"keys", "key", "next", "after", api.MaxList, false, nil},
	"/v1/keys?depth=1":             {"keys", "key", "next", "after", api.MaxList, false, nil},
	"/v1/entities":                 {"entities", "name", "next", "after", api.MaxList, false, [][2]string{{"search", "a"}, {"namespace", "work"}}},
	"/v1/quarantine":               {"memories", "rid", "next", "after", 200, false, [][2]string{atWork}},
	"/v1/sessions/S":               {"memories", "rid", "next_offset", "offset", 200, true, nil},
}

// TestPagesAreTheList walks lists with random page sizes and filters while writes happen. Each row that exists
// throughout is returned once, and none twice.
func TestPagesAreTheList(t *testing.T) {
	t.Parallel()
	for seed := range uint64(suite.Count(1, 10, 100)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newPages(t, seed)
			for range 70 {
				p.store()
			}
			for _, path := range slices.Sorted(maps.Keys(pagers)) {
				for range 3 {
					p.walk(path, pagers[path])
				}
			}
		})
	}
}

// TestEveryPagedListIsWalked checks that every paged list in the table of operations has a pager.
func TestEveryPagedListIsWalked(t *testing.T) {
	t.Parallel()
	for _, op := range api.Ops {
		for _, f := range op.Gives() {
			known := slices.ContainsFunc(slices.Collect(maps.Keys(pagers)), func(path string) bool {
				u, _ := url.Parse(path)
				return u.Path == op.Path() || op == api.SessionHistory.Op && u.Path == "/v1/sessions/S"
			})
			// revisions have no limit, and stale memories no pages
			if slices.Contains([]string{"next", "next_cursor", "next_offset", "cursor"}, f.Name) && !known &&
				op != api.Revisions.Op && op != api.Stale.Op {
				t.Errorf("%s has pages by %s, and no pager", op.Name, f.Name)
			}
		}
	}
}

// pages is a database whose lists are read while it changes.
type pages struct {
	*generator
	t       *testing.T
	w, web  *web // an owner, and a crawler whose memories wait in quarantine
	n       int
	stored  []string
	session string
}

func newPages(t *testing.T, seed uint64) *pages {
	w := start(t, 1).web(0)
	p := &pages{generator: newGenerator(seed), t: t, w: w, web: w.with(w.createToken(obj{"database": "default", "scopes": []string{"write"}, "quarantine": "web"}))}
	p.session = w.ok("POST", "/v1/sessions", obj{"namespace": "sessions", "client_id": "c"})["session_id"].(string)
	return p
}

// store stores a memory. Names and other values that lists show are either those of the first memories, or unique.
func (p *pages) store() {
	p.n++
	pick := func(of ...any) any { return of[p.IntN(len(of))] }
	m := obj{"text": fmt.Sprint("Ada", p.n, " saw Bea", p.n), "memory_type": pick("episodic", "semantic"), "importance": float64(p.IntN(3)) / 2,
		"namespace": pick("default", "work", "sessions", fmt.Sprint("space", p.n)), "created_at": 1.7e9 + float64(p.IntN(4)),
		"due_at": 2e9 + float64(p.IntN(3)), "attributes": obj{"color": pick("red", "red", fmt.Sprint("color", p.n))}}
	if p.n > 70 {
		m["attributes"] = obj{"color": fmt.Sprint("color", p.n)} // a value that was gone does not come back
	}
	switch p.IntN(6) {
	case 0:
		m["namespace"] = "default"
		m["key"] = fmt.Sprintf("/%c%d/%d", 'a'+rune(p.IntN(3)), p.n, p.n)
		p.stored = append(p.stored, p.w.ok("POST", "/v1/put", m)["rid"].(string))
	case 1:
		m["trust"] = "web"
		p.web.ok("POST", "/v1/remember", m)
	default:
		p.stored = append(p.stored, p.w.ok("POST", "/v1/remember", m)["rid"].(string))
	}
}

// change writes something between two pages.
func (p *pages) change() {
	i := p.IntN(len(p.stored))
	switch p.IntN(3) {
	case 0:
		p.w.ok("POST", "/v1/forget", obj{"rid": p.stored[i], "reason": "test"})
		p.stored = slices.Delete(p.stored, i, i+1)
	case 1:
		p.w.ok("POST", "/v1/correct", obj{"rid": p.stored[i], "reason": "test", "new_importance": p.Float64()})
	}
	if len(p.stored) < 150 { // few enough for one page
		p.store()
	}
}

// page requests a page, and returns its rows and the next cursor.
func (p *pages) page(path string, of pager, limit int, query url.Values) (ids []string, next string) {
	u, err := url.Parse(path)
	if err != nil {
		p.t.Fatal(err)
	}
	q := u.Query()
	for name, v := range query {
		q[name] = v
	}
	q.Set("limit", fmt.Sprint(limit))
	if u.Path == "/v1/sessions/S" {
		u.Path = "/v1/sessions/" + p.session
	}
	u.RawQuery = q.Encode()
	a := p.w.ok("GET", u.String(), nil)
	for _, row := range objectsIn(a, of.rows) {
		ids = append(ids, fmt.Sprint(row[of.id]))
	}
	if a[of.gives] != nil {
		next = fmt.Sprint(a[of.gives])
	}
	return ids, next
}

// walk reads a list page by page and compares it with the list before and after.
func (p *pages) walk(path string, of pager) {
	p.t.Helper()
	query := url.Values{}
	for _, f := range of.filters {
		if p.IntN(3) == 0 {
			query.Set(f[0], f[1])
		}
	}
	whole := func() []string {
		p.t.Helper()
		ids, next := p.page(path, of, of.most, query)
		if next != "" {
			p.t.Fatalf("%s %v does not fit into a page: %d rows, then %s", path, query, len(ids), next)
		}
		return ids
	}
	before, seen, limit := whole(), map[string]int{}, 1+p.IntN(7)
	if len(query) == 0 && len(before) < 3 {
		p.t.Errorf("%s has only %q: it shows nothing", path, before)
	}
	for n := 0; ; n++ {
		ids, next := p.page(path, of, limit, query)
		for _, id := range ids {
			seen[id]++
		}
		if len(ids) > limit || n > len(before)+100 {
			p.t.Fatalf("%s %v by %d: page %d has %d rows, then %s", path, query, limit, n, len(ids), next)
		}
		if next == "" {
			break
		}
		if query.Set(of.has, next); !of.still && p.IntN(3) == 0 && n < 20 {
			p.change()
		}
	}
	query.Del(of.has)
	after := whole()
	for id, times := range seen {
		if times != 1 {
			p.t.Errorf("%s %v by %d: %s comes %d times", path, query, limit, id, times)
		}
	}
	for _, id := range before {
		if slices.Contains(after, id) && seen[id] == 0 {
			p.t.Errorf("%s %v by %d: %s is left out", path, query, limit, id)
		}
	}
	if of.still && len(seen) != len(before) {
		p.t.Errorf("%s %v by %d: %d rows of %d", path, query, limit, len(seen), len(before))
	}
}
