package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// gardens returns a database in which eight sessions have an answer to "what does Ana grow". The first two answers
// are about a dahlia and lie at those places of their sessions, or of one session. A memory about dahlias and one about
// gardens share no word with the question, and a hundred others speak of gardens too.
func gardens(t *testing.T, places [2]int, sameSession bool) *replica {
	t.Helper()
	r, l := openReplica(t), newLog(t)
	n := 0
	add := func(session, text string) {
		n++
		op := remember(fmt.Sprintf("m%04d", n), text)
		op.Session = session
		op.Created = oplog.Time(n) * 1e6
		l.add(1, op)
	}
	for i := range 2 {
		session := fmt.Sprint("s", i)
		if sameSession {
			session = "s0"
		}
		for k := range places[i] {
			add(session, fmt.Sprint("small talk ", i, " ", k))
		}
		add(session, "Ana grows a dahlia in the garden")
	}
	for i := range 6 {
		add(fmt.Sprint("t", i), fmt.Sprintf("Ana grows plant%d in the garden", i))
	}
	add("far", "the dahlia bulbs rot in wet soil")
	add("far2", "every garden needs water")
	for i := range 100 {
		add(fmt.Sprint("rest", i), fmt.Sprintf("the garden of neighbour%d", i))
	}
	for i := range 100 {
		add(fmt.Sprint("other", i), fmt.Sprintf("nothing of note on day%d", i))
	}
	r.apply(l.records, 100)
	return r
}

// TestSecondPass: where no answer stands out, what several of them are about finds what shares no word with the
// question, and says so.
func TestSecondPass(t *testing.T) {
	t.Parallel()
	q := index.Query{Text: "what does Ana grow", K: 20, Now: now}
	bulbs := func(r *replica, q index.Query) *index.Hit {
		hits := r.ask(q)
		i := slices.IndexFunc(hits, func(h index.Hit) bool { return strings.Contains(h.Memory.Text, "bulbs") })
		if i < 0 {
			return nil
		}
		return &hits[i]
	}
	r := gardens(t, [2]int{0, 0}, false)
	h := bulbs(r, q)
	if h == nil || h.Parts.Second <= 0 || h.Parts.Words != 0 || !slices.Contains(h.Why, "second_pass via dahlia") {
		t.Fatalf("what the first answers are about finds %+v", h)
	}
	for _, h := range r.ask(q) {
		if strings.Contains(h.Memory.Text, "water") || strings.Contains(h.Memory.Text, "neighbour") {
			t.Errorf("a word that half of the memories have finds %q", h.Memory.Text)
		}
	}
	off := q
	off.Without = []string{"second"}
	if h := bulbs(r, off); h != nil {
		t.Errorf("switched off, it finds %+v", h)
	}
	sure := q
	sure.Text = "Ana plant3"
	if h := bulbs(r, sure); h != nil {
		t.Errorf("with an answer that stands out, it finds %+v", h)
	}
	if h := bulbs(gardens(t, [2]int{0, 3}, true), q); h != nil {
		t.Errorf("what answers beside each other share finds %+v", h)
	}
	if h := bulbs(gardens(t, [2]int{0, 12}, true), q); h == nil {
		t.Error("what answers from two places of one session share finds nothing")
	}
}
