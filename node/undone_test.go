package node_test

import (
	"net/http"
	"testing"
	"time"
)

// undo undoes the last change of a memory under a key, twice, and requires the same answer both times.
func (w *web) undo(rid, key string) obj {
	w.t.Helper()
	first, again := w.ok("POST", "/v1/undo", obj{"rid": rid, "idempotency_key": key}), w.ok("POST", "/v1/undo", obj{"rid": rid, "idempotency_key": key})
	delete(first, "log_index")
	delete(again, "log_index")
	if toJSON(w.t, again) != toJSON(w.t, first) {
		w.t.Errorf("an undo answers %v, repeated %v", first, again)
	}
	return first
}

// TestUndoneChangesSupersedeAsBefore checks that undoing a merge, a split, a move or a correction restores which
// memories the memory supersedes and is superseded by.
func TestUndoneChangesSupersedeAsBefore(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	remember := func(text, agent string) string {
		t.Helper()
		return w.ok("POST", "/v1/remember", obj{"text": text, "agent": agent})["rid"].(string)
	}
	oldest, middle, newest := remember("Ada lives in Lisbon", "first"), remember("Ada lives in Rome", "second"), remember("Ada lives in Oslo", "third")
	other := remember("The harbor is closed in winter", "")
	same := func(after string) {
		t.Helper()
		for rid, by := range map[string]any{oldest: middle, middle: newest, newest: nil} {
			if m := w.ok("GET", "/v1/memory/"+rid, nil); m["superseded_by"] != by || m["consolidation_status"] != "active" {
				t.Errorf("after %s, %v is superseded by %v, want %v", after, m["text"], m["superseded_by"], by)
			}
		}
		if m := w.ok("GET", "/v1/memory/"+middle, nil); m["text"] != "Ada lives in Rome" || m["agent"] != "second" {
			t.Errorf("after %s: %v, from %v", after, m["text"], m["agent"])
		}
		if got := recalled(t, w, "where does Ada live"); got != "Ada lives in Oslo" {
			t.Errorf("after %s, recall returns %s", after, got)
		}
	}
	same("three statements")
	w.undo(w.ok("POST", "/v1/merge",
		obj{"rids": []string{middle, other}, "text": "Ada was in Rome, and the harbor is closed"})["rid"].(string), "merge")
	same("a merge")
	w.undo(w.ok("POST", "/v1/merge",
		obj{"rids": []string{newest, middle, oldest}, "text": "Ada has lived in Lisbon, Rome and Oslo"})["rid"].(string), "merge of all")
	same("a merge of all")
	w.ok("POST", "/v1/split", obj{"rid": newest, "texts": []string{"Ada is in Oslo", "Oslo is where Ada is"}})
	w.undo(newest, "split")
	same("a split")
	w.ok("POST", "/v1/move", obj{"rid": middle, "to": "work"})
	w.undo(middle, "move")
	same("a move")
	w.ok("POST", "/v1/correct", obj{"rid": middle, "new_text": "The bridge is painted red", "reason": "r"})
	w.undo(middle, "correct")
	same("a correction")
}

// TestAnUndoTakesBackAWholeCorrection checks that a correction whose text another memory supersedes is undone as one
// change.
func TestAnUndoTakesBackAWholeCorrection(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	rid := w.ok("POST", "/v1/remember", obj{"text": "The bridge is painted red"})["rid"].(string)
	w.ok("POST", "/v1/remember", obj{"text": "Ada lives in Oslo", "created_at": time.Now().Add(24 * time.Hour).Format(time.RFC3339)})
	w.ok("POST", "/v1/correct", obj{"rid": rid, "new_text": "Ada lives in Rome", "reason": "r"})
	if m := w.ok("GET", "/v1/memory/"+rid, nil); m["superseded_by"] == nil {
		t.Fatalf("nothing supersedes %v", m)
	}
	got := w.undo(rid, "k")
	if m := w.ok("GET", "/v1/memory/"+rid, nil); m["text"] != "The bridge is painted red" || m["superseded_by"] != nil ||
		got["restored"] != 0. {
		t.Errorf("undone: %v, by the answer %v", m, got)
	}
}

// TestWhatWasMergedIsNotCorrected checks that correcting a merged memory is rejected with the id of the memory to
// correct, so that an undo of the merge finds it unchanged. An earlier correction can be repeated by its key.
func TestWhatWasMergedIsNotCorrected(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	a := w.ok("POST", "/v1/put", obj{"key": "/a", "text": "Ada plays chess", "importance": 1})["rid"].(string)
	b := w.ok("POST", "/v1/remember", obj{"text": "Ada drinks tea"})["rid"].(string)
	before := obj{"rid": b, "new_text": "Ada drinks green tea", "reason": "precise", "idempotency_key": "k"}
	first := w.ok("POST", "/v1/correct", before)
	made := w.ok("POST", "/v1/merge", obj{"rids": []string{a, b}, "text": "Ada plays chess and drinks green tea"})["rid"].(string)
	if status, got := w.send("POST", "/v1/correct", obj{"rid": a, "new_importance": .4, "reason": "r"}); status != http.StatusConflict {
		t.Errorf("corrected: %d %v", status, got)
	}
	if again := w.ok("POST", "/v1/correct", before); again["revision"] != first["revision"] {
		t.Errorf("repeated: %v, first %v", again, first)
	}
	w.undo(made, "u")
	if m := w.ok("GET", "/v1/get?key=/a", nil); m["rid"] != a || m["importance"] != 1. {
		t.Errorf("the key leads to %v", m)
	}
}

// TestCuratedMemoriesAreNamedAlone checks that the answers to a split and its undo name only the created and the
// restored memories, and not those that they superseded.
func TestCuratedMemoriesAreNamedAlone(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	remember := func(text string) string {
		t.Helper()
		return w.ok("POST", "/v1/remember", obj{"text": text})["rid"].(string)
	}
	remember("Ada lives in Lisbon")
	rid := remember("Ada lives in Rome")
	parts := w.ok("POST", "/v1/split", obj{"rid": rid, "texts": []string{"Ada is in Rome", "Rome is where Ada is"}})["rids"].([]any)
	if len(parts) != 2 || w.ok("GET", "/v1/memory/"+parts[1].(string), nil)["text"] != "Rome is where Ada is" {
		t.Errorf("the parts are %v", parts)
	}
	w.ok("POST", "/v1/remember", obj{"text": "Carl lives in Lisbon", "created_at": "2020-01-01"})
	if got := w.ok("POST", "/v1/correct", obj{"rid": parts[0], "new_text": "Carl lives in Oslo", "reason": "r"}); got["superseded"] == nil {
		t.Fatalf("a part that supersedes nothing: %v", got)
	}
	if undone := w.undo(rid, "k"); toJSON(t, undone["forgotten"]) != toJSON(t, parts) ||
		toJSON(t, undone["recalled_again"]) != toJSON(t, []string{rid}) {
		t.Errorf("undone: %v", undone)
	}
}

// TestAnUndoBringsTrustBack checks that a correction by a less trusted writer lowers the class of trust, that its
// undo restores the class with the text, and that the next such correction lowers it again.
func TestAnUndoBringsTrustBack(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	page := w.with(w.createToken(obj{"label": "page", "trust": "web"}))
	rid := w.ok("POST", "/v1/remember", obj{"text": "The harbor is closed in winter"})["rid"].(string)
	of := func(when, text string, trust any) {
		t.Helper()
		if m := w.ok("GET", "/v1/memory/"+rid, nil); m["text"] != text || m["trust"] != trust {
			t.Errorf("%s: %q is of class %v, want %q of class %v", when, m["text"], m["trust"], text, trust)
		}
	}
	first := w.ok("GET", "/v1/memory/"+rid, nil)["trust"]
	for _, by := range []*web{w, page} {
		page.ok("POST", "/v1/correct", obj{"rid": rid, "new_text": "The harbor is open", "reason": "as a page says"})
		of("corrected", "The harbor is open", "web")
		by.ok("POST", "/v1/undo", obj{"rid": rid})
		of("undone", "The harbor is closed in winter", first)
	}
	page.ok("POST", "/v1/correct", obj{"rid": rid, "new_text": "The harbor is open", "reason": "as a page says"})
	w.ok("POST", "/v1/correct", obj{"rid": rid, "new_text": "The harbor is open on Mondays", "reason": "in part"})
	of("corrected in part", "The harbor is open on Mondays", "web")
}
