package node_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// exportContent returns the content of an export, by the ids of memories and the ends of relations, without the
// history and fields that reading changes. Ids of claims are new each time a text is read.
func (w *web) exportContent() map[string]obj {
	w.t.Helper()
	rows := map[string]obj{}
	for line := range strings.Lines(w.raw("GET", "/v1/export", "")) {
		var row obj
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			w.t.Fatal(err)
		}
		if row["type"] == "edge" {
			rows[fmt.Sprint("edge ", row["src"], row["rel_type"], row["dst"])] = obj{"weight": row["weight"]}
			continue
		}
		for _, of := range []string{"revision", "revisions", "updated_at"} {
			delete(row, of)
		}
		if row["metadata"] == nil {
			row["metadata"] = obj{} // as reads show it
		}
		for _, named := range objectsIn(row, "entities") {
			delete(named, "type") // the kinds of names are shared by the whole database
		}
		var claims []string
		for _, c := range objectsIn(row, "claims") {
			for _, of := range []string{"claim_id", "created_at", "updated_at"} {
				delete(c, of)
			}
			claims = append(claims, toJSON(w.t, c))
		}
		slices.Sort(claims)
		row["claims"] = claims
		rows[row["rid"].(string)] = removeVolatile(row).(obj)
	}
	for _, space := range []string{"default", "work", "home/den"} {
		for _, k := range objectsIn(w.ok("GET", "/v1/keys?limit=1000&namespace="+space, nil), "keys") {
			rows[fmt.Sprint("key ", space, k["key"])] = obj{"rid": k["rid"]}
		}
	}
	for _, question := range []string{"Ada lives in", "Lisbon river harbor", "Bob", "First look then act"} {
		found := w.ok("POST", "/v1/recall", obj{"query": question, "top_k": 1000, "skip_reinforce": true, "include_superseded": true})
		for _, hit := range objectsIn(found, "results") {
			if text := hit["text"].(string); slices.ContainsFunc(strings.Fields(text),
				func(word string) bool { return strings.Contains(question, word) }) {
				rows[fmt.Sprint("recall ", question, " finds ", hit["rid"])] = obj{"text": text}
			}
		}
	}
	return rows
}

// objectsIn returns the objects of a list in an answer.
func objectsIn(of obj, key string) (list []obj) {
	items, _ := of[key].([]any)
	for _, x := range items {
		list = append(list, x.(obj))
	}
	return list
}

// statement makes a request state something that a later one may replace, half of the time.
func (d *generator) statement(r request) {
	body, _ := r.body.(obj)
	for _, field := range []string{"text", "new_text"} {
		if body[field] != nil && d.IntN(2) == 0 {
			body[field] = drawnWords[d.IntN(3)] + " lives in " + []string{"Lisbon", "Rome", "Oslo", "Paris"}[d.IntN(4)]
		}
	}
}

// undoable draws a change that can be undone.
func (d *generator) undoable() request {
	ops := []*api.Op{api.Correct.Op, api.Correct.Op, api.Move.Op, api.Merge.Op, api.Merge.Op, api.Split.Op, api.Put.Op,
		api.Rename.Op, api.ChangeTask.Op, api.DefineSkill.Op, api.Undo.Op}
	r := d.request(ops[d.IntN(len(ops))])
	d.statement(r)
	body := r.body.(obj)
	for _, f := range []string{"expected_revision", "expected_revisions", "revision", "if_revision", "prefix"} {
		delete(body, f)
	}
	if r.op == api.DefineSkill.Op {
		body["on_conflict"] = "replace"
	}
	return r
}

// changedBy returns the memory that a request changed, "" if the change cannot be undone.
func (d *generator) changedBy(r request, out obj) string {
	if out["created"] == true || out["forgotten"] != nil { // forgetting a merged memory cannot be undone
		return ""
	}
	if made, _ := out["rids"].([]any); r.op == api.Split.Op && d.IntN(2) == 0 {
		return made[d.IntN(len(made))].(string)
	}
	for _, from := range []obj{out, r.body.(obj)} {
		for _, key := range []string{"rid", "id"} {
			if rid, _ := from[key].(string); rid != "" {
				return rid
			}
		}
	}
	return ""
}

// mayDiffer reports whether a field may differ after the undo of a change.
func mayDiffer(op *api.Op, field string, was, between, is obj) bool {
	otherText := between["text"] != was["text"]
	switch field {
	case "superseded_by": // a newer memory may have superseded that one; a memory that an undo made current stays current
		return is[field] != nil && was[field] != nil || op == api.Undo.Op && between[field] == nil
	case "superseded_surely":
		return mayDiffer(op, "superseded_by", was, between, is)
	case "embedding": // a vector that a client sent goes with its text, and an undo does not bring back the one before
		return between[field] == nil || otherText || was[field] == nil || op == api.Correct.Op
	case "entities", "extractor", "claims": // the text was read again, also when a client sent a vector for it
		return otherText || between["searchable"] == false || op == api.Correct.Op && between["embedding"] != nil
	}
	return false
}

// TestAnUndoIsAnInverse checks that undoing a random change restores the database exactly.
func TestAnUndoIsAnInverse(t *testing.T) {
	suite.NotShort(t, "many requests, one after the other")
	t.Parallel()
	c := start(t, 1)
	d := newGenerator(*alikeSeed)
	w := c.web(0)
	writes, reads := d.operations()
	seldom := []*api.Op{api.Purge.Op, api.ForgetMatching.Op, api.Erase.Op, api.Delete.Op, api.Forget.Op, api.SetSettings.Op}
	done := map[string]int{}
	for range suite.Count(30, 200, 1000) {
		for range 3 {
			op := writes[d.IntN(len(writes))]
			if d.IntN(3) == 0 {
				op = []*api.Op{api.Remember.Op, api.RememberBatch.Op, api.Put.Op}[d.IntN(3)]
			} else if slices.Contains(seldom, op) && d.IntN(6) > 0 {
				continue
			}
			r := d.request(op)
			d.statement(r)
			d.ask(w, r)
			d.ask(w, d.request(reads[d.IntN(len(reads))]))
		}
		r := d.undoable()
		before := w.exportContent()
		status, out := d.ask(w, r)
		if status != http.StatusOK {
			continue
		}
		rid, between := d.changedBy(r, out), w.exportContent()
		if rid == "" || toJSON(t, between) == toJSON(t, before) || before[rid] == nil && r.op != api.Merge.Op && r.op != api.Split.Op {
			continue
		}
		status, undone := w.send("POST", "/v1/undo", obj{"rid": rid})
		if status != http.StatusOK {
			if !strings.Contains(fmt.Sprint(undone), "erased for good") {
				t.Fatalf("%v\nis not undone: %v", r, undone)
			}
			continue
		}
		done[r.op.Name]++
		after := w.exportContent()
		for _, id := range slices.Sorted(maps.Keys(merged(before, after))) {
			was, is := before[id], after[id]
			for field := range merged(was, is) {
				if toJSON(t, was[field]) != toJSON(t, is[field]) && !mayDiffer(r.op, field, was, between[id], is) {
					t.Errorf("%v\nundone: %v\n%s of %s\nbefore   %s\nbetween  %s\nafter    %s", r, undone, field, id,
						toJSON(t, was), toJSON(t, between[id]), toJSON(t, is))
				}
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if len(done) < 3 {
		t.Errorf("only %v were undone", done)
	}
	t.Log(done)
}

// merged returns the union of two maps.
func merged[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return all
}
