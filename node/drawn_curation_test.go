package node_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// A version is the text and the namespace of a memory at one time.
type version struct{ text, namespace string }

// keptMemory is the model of a memory.
type keptMemory struct {
	version
	history []version // the oldest first
	status  string
	from    []string // the memories that it was merged from
	into    string   // the memory that it was merged into
	curated bool     // a source or result of a merge, even of an undone one
}

// A memoryModel models the memories in two namespaces of a node.
type memoryModel struct {
	*web
	*rand.Rand
	all   map[string]*keptMemory
	rids  []string // in the order of their making
	texts int
}

func (k *memoryModel) text() string {
	k.texts++
	return fmt.Sprintf("w%da w%db w%dc", k.texts, k.texts, k.texts)
}

func (k *memoryModel) add(rid string, m *keptMemory) {
	k.rids, k.all[rid], m.status = append(k.rids, rid), m, "active"
}

func (k *memoryModel) space() string { return []string{"left", "right"}[k.IntN(2)] }

// changes sends a change of a memory, which must succeed or be rejected.
func (k *memoryModel) changes(rid string, done bool, path string, body obj) (changed bool, out obj) {
	k.t.Helper()
	status, out := k.send("POST", path, body)
	if (status == http.StatusOK) != done || !done && status != http.StatusConflict && status != http.StatusNotFound {
		k.t.Fatalf("%s %v: %d %v, of %+v", path, body, status, out, k.all[rid])
	}
	return done, out
}

// step makes one random change of a memory.
func (k *memoryModel) step() {
	op := k.IntN(9)
	if len(k.rids) < 3 || op < 2 {
		m := &keptMemory{version: version{k.text(), k.space()}}
		k.add(k.ok("POST", "/v1/remember", obj{"text": m.text, "namespace": m.namespace})["rid"].(string), m)
		return
	}
	rid := k.rids[k.IntN(len(k.rids))]
	m := k.all[rid]
	active := m.status == "active"
	next := func(now version) { m.history, m.version = append(m.history, m.version), now }
	switch op {
	case 2, 3:
		now := version{k.text(), m.namespace}
		if done, _ := k.changes(rid, active, "/v1/correct", obj{"rid": rid, "new_text": now.text, "reason": "r"}); done {
			next(now)
		}
	case 4:
		now := version{m.text, k.space()}
		if done, _ := k.changes(rid, active, "/v1/move", obj{"rid": rid, "to": now.namespace}); done && now != m.version {
			next(now)
		}
	case 5:
		with := k.rids[k.IntN(len(k.rids))]
		o := k.all[with]
		if with == rid {
			return
		}
		now := version{k.text(), m.namespace}
		if done, out := k.changes(rid, active && o.status == "active" && o.namespace == m.namespace,
			"/v1/merge", obj{"rids": []string{rid, with}, "text": now.text}); done {
			into := out["rid"].(string)
			k.add(into, &keptMemory{version: now, from: []string{rid, with}, curated: true})
			for _, x := range []*keptMemory{m, o} {
				x.status, x.into, x.curated = "consolidated", into, true
			}
		}
	case 6:
		if active {
			k.ok("POST", "/v1/forget", obj{"rid": rid})
			m.status = "tombstoned"
		}
	case 7:
		if active && !m.curated {
			ask := obj{"rids": []string{rid}}
			ask["confirm"] = k.ok("POST", "/v1/erase", ask)["confirm"]
			k.ok("POST", "/v1/erase", ask)
			m.status, m.text, m.history = "erased", "", nil
		}
	case 8:
		k.undo(rid, m)
	}
}

// undo undoes the merge that a memory went into or came from, or else its last correction or move.
func (k *memoryModel) undo(rid string, m *keptMemory) {
	made := m.into
	if m.status == "active" && len(m.history) == 0 && len(m.from) > 0 {
		made = rid
	}
	product := k.all[made]
	switch {
	case m.status == "tombstoned", m.status == "erased":
		k.changes(rid, false, "/v1/undo", obj{"rid": rid})
	case product != nil:
		if done, _ := k.changes(rid, product.status != "consolidated", "/v1/undo", obj{"rid": rid}); !done {
			return
		}
		back := product.from
		if product.status == "tombstoned" {
			back = []string{rid}
		}
		product.status = "tombstoned"
		for _, source := range back {
			if s := k.all[source]; s.into == made && s.status == "consolidated" {
				s.status, s.into = "active", ""
			}
		}
	default:
		if done, _ := k.changes(rid, len(m.history) > 0, "/v1/undo", obj{"rid": rid}); done {
			was := m.history[len(m.history)-1]
			m.history, m.version = append(m.history, m.version), was
		}
	}
}

// check compares the node's answers with the model.
func (k *memoryModel) check() {
	k.t.Helper()
	active := map[string][]string{"left": nil, "right": nil}
	for _, rid := range k.rids {
		m := k.all[rid]
		status, got := k.send("GET", "/v1/memory/"+rid, nil)
		if m.status == "erased" && status == http.StatusNotFound {
			continue
		}
		if got["text"] != m.text || got["namespace"] != m.namespace || got["consolidation_status"] != m.status {
			k.t.Fatalf("%s is %v %q in %v, want %+v", rid, got["consolidation_status"], got["text"], got["namespace"], m)
		}
		if m.status != "active" {
			continue
		}
		active[m.namespace] = append(active[m.namespace], rid)
		var history []version
		for _, r := range objectsIn(k.ok("GET", "/v1/memory/"+rid+"/revisions", nil), "revisions") {
			history = append(history, version{r["text"].(string), r["namespace"].(string)})
		}
		if !slices.Equal(history, m.history) {
			k.t.Fatalf("the history of %s is %v, want %v", rid, history, m.history)
		}
	}
	for space, want := range active {
		listed := map[string]bool{}
		for _, m := range objectsIn(k.ok("GET", "/v1/memories?limit=200&namespace="+space, nil), "items") {
			listed[m["rid"].(string)] = true
		}
		if got := slices.Sorted(maps.Keys(listed)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			k.t.Fatalf("%s lists %v, want %v", space, got, want)
		}
	}
	m := k.all[k.rids[k.IntN(len(k.rids))]]
	if m.text == "" {
		return
	}
	for space := range active {
		var got, want []string
		for _, hit := range objectsIn(k.ok("POST", "/v1/recall", obj{"query": m.text, "namespace": space, "top_k": 10, "skip_reinforce": true}), "results") {
			if hit["text"] == m.text {
				got = append(got, hit["rid"].(string))
			}
		}
		for _, rid := range active[space] {
			if k.all[rid].text == m.text {
				want = append(want, rid)
			}
		}
		if !slices.Equal(got, want) {
			k.t.Fatalf("recall of %q in %s finds %v, want %v", m.text, space, got, want)
		}
	}
}

// TestCurationFollowsAModel remembers, corrects, moves, merges, forgets, erases and undoes at random in two
// namespaces, and compares reads with a small model.
func TestCurationFollowsAModel(t *testing.T) {
	suite.NotShort(t, "many requests, one after the other")
	t.Parallel()
	w := start(t, 1).web(0)
	for seed := range uint64(suite.Count(2, 15, 100)) {
		name := fmt.Sprint("curated-", seed)
		w.ok("POST", "/v1/databases", obj{"name": name})
		token := w.createToken(obj{"database": name, "scopes": []string{"read", "write", "owner"}})
		k := &memoryModel{web: w.with(token), Rand: rand.New(rand.NewPCG(seed, *alikeSeed)), all: map[string]*keptMemory{}}
		for range 60 {
			k.step()
			k.check()
		}
	}
}
