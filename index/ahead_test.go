package index_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// TestAMovedMemoryIsNotShown: the state has moved a memory to another namespace, and the index does not know it yet.
// A question that is bound to the old namespace, by its filter or by the caller's rights, does not return it.
func TestAMovedMemoryIsNotShown(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	l.add(1, remember("a", "the violin is in the attic"))
	l.add(1, remember("b", "the violin is sold"))
	r.apply(l.records, 10)
	to, text := "private", "the violin is worth a fortune"
	l.add(1, &oplog.Correct{RID: "b", Text: &text, Place: oplog.Place{Namespace: &to}, Reason: "moved", At: oplog.At(now)})
	out, err := r.state.Apply(l.records[len(l.records)-1:])
	must(t, err)
	look := func() {
		for name, f := range map[string]index.Filter{"filter": {Namespace: "default"},
			"rights": {Spaces: oplog.Spaces{"default"}}, "private": {Private: "priv"},
			"admit": {Admit: func(f index.Facts) bool { return f.Namespace == "default" }}} {
			for _, text := range []string{"violin", ""} {
				if hits := r.ask(index.Query{Text: text, K: 10, Filter: f}); len(hits) != 1 || hits[0].Memory.RID != "a" {
					t.Errorf("%s, %q: %d memories, the first %q of %s", name, text, len(hits), hits[0].Memory.Text,
						hits[0].Memory.Namespace)
				}
			}
		}
	}
	look()
	must(t, r.index.Follow(t.Context(), out))
	look()
}

// TestAnAnswerPassesItsFilterNow: the state has changed a memory's attributes, and the index does not know it yet. An
// answer with a filter leaves out a memory that no longer passes it.
func TestAnAnswerPassesItsFilterNow(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	for _, rid := range []string{"a", "b"} {
		m := remember(rid, "mend the violin")
		m.Attributes = []byte(`{"state":"open"}`)
		l.add(1, m)
	}
	r.apply(l.records, 10)
	l.add(1, &oplog.Correct{RID: "b", Attributes: []byte(`{"state":"done"}`), Reason: "done", At: oplog.At(now)})
	out, err := r.state.Apply(l.records[len(l.records)-1:])
	must(t, err)
	look := func() {
		for _, text := range []string{"violin", ""} {
			hits := r.ask(index.Query{Text: text, K: 10, Filter: index.Filter{Match: parsed(t, `{"state":"open"}`)}})
			if len(hits) != 1 || hits[0].Memory.RID != "a" {
				t.Errorf("%q: %d memories, the first %s has %s", text, len(hits), hits[0].Memory.RID, hits[0].Memory.Attributes)
			}
		}
	}
	look()
	must(t, r.index.Follow(t.Context(), out))
	look()
}

// TestANameIsFoundHoweverItIsWritten: a question finds an entity also when it writes the name in decomposed letters.
func TestANameIsFoundHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	l.add(1, remember("a", "the lighthouse is open on Sundays"))
	l.add(1, &oplog.Relate{ID: "e", Src: "Ren\u00e9e", Dst: "lighthouse", Type: "keeps", Weight: 1, At: oplog.At(now)})
	r.apply(l.records, 10)
	for _, name := range []string{"Ren\u00e9e", "Rene\u0301e"} {
		if hits := r.ask(index.Query{Text: "where is " + name, K: 10, Expand: true}); len(hits) != 1 {
			t.Errorf("%q: %d memories, want 1", name, len(hits))
		}
	}
}

// TestANameIsFoundBetweenLetters: a question in a script without spaces follows the relations of the entities and
// aliases that it names, whatever letters surround them.
func TestANameIsFoundBetweenLetters(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	l.add(1, remember("a", "the lighthouse is open on Sundays"))
	l.add(1, remember("b", "the bakery is shut on Mondays"))
	for i, e := range [][2]string{{"王明", "lighthouse"}, {"田中さん", "lighthouse"}, {"สมชาย", "lighthouse"}, {"김민수", "lighthouse"},
		{"Acme", "lighthouse"}, {"東京", "lighthouse"}, {"京都", "bakery"}, {"都", "bakery"}} {
		l.add(1, &oplog.Relate{ID: fmt.Sprint("e", i), Src: e[0], Dst: e[1], Type: "keeps", Weight: 1, At: oplog.At(now)})
	}
	l.add(1, &oplog.Alias{Namespace: "default", Alias: "小明", Canonical: "王明", At: oplog.At(now)})
	r.apply(l.records, 10)
	for question, want := range map[string][]string{
		"王明在哪里工作": {"a"}, "昨天王明": {"a"}, "小明在哪里工作": {"a"}, "田中さんはどこで働いていますか": {"a"}, "สมชายทำงานที่ไหน": {"a"},
		"김민수는 어디서 일하나요": {"a"}, "张伟在ACME工作吗": {"a"}, "王在哪里": nil,
		"東京都はどこ": {"a"}, // not 京都
		"京都はどこ":  {"b"}, "張偉在acmes工作嗎": nil,
	} {
		var got []string
		for _, h := range r.ask(index.Query{Text: question, K: 10, Expand: true}) {
			got = append(got, h.Memory.RID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", question, got, want)
		}
	}
}
