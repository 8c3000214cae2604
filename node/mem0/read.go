package mem0

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// The default and the maximum size of a page.
const (
	pageSize    = 100
	maxPageSize = 200
)

// A page is the part of a list that a call requests.
type page struct{ number, size int }

// page reads the parameters page and page_size.
func (x *exchange) page(defaultSize, maxSize int) (p page, err error) {
	p = page{1, defaultSize}
	for name, to := range map[string]*int{"page": &p.number, "page_size": &p.size} {
		if s := x.Params.Get(name); s != "" {
			if *to, err = strconv.Atoi(s); err != nil || *to < 1 || *to > 1<<30 {
				return p, oplog.Errorf(oplog.Invalid, "%s: want a number from 1, got %.20q", name, s)
			}
		}
	}
	p.size = min(p.size, maxSize)
	return p, nil
}

func (p page) offset() int { return (p.number - 1) * p.size }

// pageOf returns the answer for a page.
func (x *exchange) pageOf(p page, count int, results any) object {
	at := func(number int, there bool) any {
		if !there {
			return nil
		}
		u, params := *x.R.URL, x.R.URL.Query()
		params.Set("page", strconv.Itoa(number))
		params.Set("page_size", strconv.Itoa(p.size))
		u.Scheme, u.Host, u.RawQuery = "http", x.R.Host, params.Encode()
		if x.R.TLS != nil || x.R.Header.Get("X-Forwarded-Proto") == "https" {
			u.Scheme = "https"
		}
		return u.String()
	}
	return object{"count": count, "next": at(p.number+1, p.offset()+p.size < count), "previous": at(p.number-1, p.number > 1),
		"results": results}
}

// newest lists memories, newest first.
func (x *exchange) newest(f field.Map, skip, most int) ([]api.Result, error) {
	q, err := api.Recall.Fill(object{"query": "", "namespace": oplog.Mem0Namespace, "filter": f, "top_k": most, "skip_reinforce": true})
	if err != nil {
		return nil, err
	}
	q.Whole, q.Skip, q.Fresh = true, skip, x.Fresh
	a, err := api.Recall.Do(x.R.Context(), x.Door, x.C, q)
	if err == nil && a.Left > 0 {
		err = oplog.Errorf(oplog.TooLarge, "these memories are over the bound of an answer: ask for a smaller page_size than %d", most)
	}
	if err != nil {
		return nil, err
	}
	return a.Results, nil
}

// list returns the handler that lists memories page by page.
func list(as shape) func(*exchange) (any, error) {
	return func(x *exchange) (any, error) {
		in := struct {
			selection
			Fields []string `json:"fields"`
			Format string   `json:"output_format"`
		}{selection: x.selected(), Fields: x.Params["fields"], Format: x.Params.Get("output_format")}
		if err := x.Decode(&in); err != nil {
			return nil, err
		}
		p, err := x.page(pageSize, maxPageSize)
		if err == nil && as == selfHosted && x.Params.Has("top_k") {
			p.size, err = strconv.Atoi(x.Params.Get("top_k"))
			if err != nil || p.size < 1 || p.size > api.MaxHits {
				err = oplog.Errorf(oplog.Invalid, "top_k: want a number from 1 to %d", api.MaxHits)
			}
		}
		if err != nil {
			return nil, err
		}
		f, err := in.filter()
		if err != nil {
			return nil, err
		}
		rows, err := x.newest(f, p.offset(), p.size)
		if err != nil {
			return nil, err
		}
		shown := api.Each(rows, func(r api.Result) object { return selectFields(show(r.Whole), in.Fields) })
		if as == selfHosted || as == legacy && in.Format == "v1.1" && !x.Params.Has("page") {
			return object{"results": shown}, nil
		}
		if as == legacy && !x.Params.Has("page") {
			return shown, nil
		}
		n, err := api.Count.For(&x.Exchange, object{"namespace": oplog.Mem0Namespace, "filter": f})
		if err != nil {
			return nil, err
		}
		return x.pageOf(p, n.Count, shown), nil
	}
}

// search returns the handler that searches memories.
func search(as shape) func(*exchange) (any, error) {
	return func(x *exchange) (any, error) {
		in := struct {
			selection
			Query     string   `json:"query"`
			TopK      *int     `json:"top_k"`
			Limit     *int     `json:"limit"`
			Threshold *float64 `json:"threshold"`
			Fields    []string `json:"fields"`
			Format    string   `json:"output_format"`
		}{}
		if err := x.Decode(&in); err != nil {
			return nil, err
		}
		if strings.TrimSpace(in.Query) == "" {
			return nil, oplog.Errorf(oplog.Invalid, "query: want words")
		}
		f, err := in.filter()
		if err != nil {
			return nil, err
		}
		values := object{"query": in.Query, "namespace": oplog.Mem0Namespace, "filter": f, "explain": true}
		if k := cmp.Or(in.TopK, in.Limit); k != nil {
			values["top_k"] = *k
		}
		if in.Threshold != nil {
			values["min_score"] = *in.Threshold
		}
		q, err := api.Recall.Fill(values)
		if err != nil {
			return nil, err
		}
		q.Whole, q.Fresh = true, x.Fresh
		a, err := api.Recall.Do(x.R.Context(), x.Door, x.C, q)
		if err != nil {
			return nil, err
		}
		found := make([]object, len(a.Results))
		for i, row := range a.Results {
			o, s := show(row.Whole), row.Shares
			o["score"] = row.Score
			o["score_breakdown"] = object{"semantic": s.Vector, "bm25": s.Words + s.Passage + s.Around + s.Session, "entity": s.Graph}
			found[i] = selectFields(o, in.Fields)
		}
		if as == legacy && in.Format != "v1.1" {
			return found, nil
		}
		return object{"results": found}, nil
	}
}

func (x *exchange) get() (any, error) {
	m, err := x.activeMemory(x.R.PathValue("id"), true)
	if err != nil {
		return nil, err
	}
	return show(m), nil
}

// history lists the changes of a memory, from its revisions, oldest first.
func (x *exchange) history() (any, error) {
	m, err := x.memory(x.R.PathValue("id"), false)
	if err != nil {
		return nil, err
	}
	past, err := x.AllRevisions(m.RID, "revisions")
	if err != nil {
		return nil, err
	}
	var texts []string
	times := []string{m.CreatedAt}
	for _, r := range past {
		texts, times = append(texts, r.Text), append(times, iso(r.Until))
	}
	texts = append(texts, m.Text)
	shown := show(m)
	var all []object
	add := func(event string, before, after any, at string) {
		all = append(all, object{"id": m.RID + "-" + strconv.Itoa(len(all)), "memory_id": m.RID, "input": []any{},
			"old_memory": before, "new_memory": after, "event": event,
			"user_id": shown["user_id"], "metadata": shown["metadata"], "categories": shown["categories"],
			"created_at": m.CreatedAt, "updated_at": at})
	}
	add("ADD", nil, texts[0], times[0])
	for i := 1; i < len(texts); i++ {
		add("UPDATE", texts[i-1], texts[i], times[i])
	}
	if m.Status == oplog.Tombstoned.String() {
		add("DELETE", m.Text, nil, m.UpdatedAt)
	}
	return all, nil
}

// events lists additions: one for each existing memory.
func (x *exchange) events() (any, error) {
	p, err := x.page(50, pageSize)
	if err != nil {
		return nil, err
	}
	rows, err := x.newest(everything(), p.offset(), p.size)
	if err != nil {
		return nil, err
	}
	n, err := api.Count.For(&x.Exchange, object{"namespace": oplog.Mem0Namespace, "filter": everything()})
	if err != nil {
		return nil, err
	}
	return x.pageOf(p, n.Count, api.Each(rows, func(r api.Result) object { return addition(r.Whole) })), nil
}

func (x *exchange) event() (any, error) {
	m, err := x.memory(x.R.PathValue("id"), false)
	if err != nil {
		return nil, err
	}
	return addition(m), nil
}

func addition(m *api.Memory) object {
	return object{"id": m.RID, "event_type": "ADD", "status": succeeded, "payload": object{},
		"results": []object{added(m.RID, m.Text)}, "created_at": m.CreatedAt,
		"updated_at": m.CreatedAt, "started_at": m.CreatedAt, "completed_at": m.CreatedAt, "latency": 0, "error": nil}
}
