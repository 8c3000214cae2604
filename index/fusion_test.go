package index_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// A trial is a corpus of sessions with questions, each of which has one answer.
type trial struct {
	r         *replica
	questions []string
	answers   []string // rids
	vectors   [][]float32
}

// newTrial makes a corpus of made-up words, some frequent and most rare. A question has two words of its answer and
// two others. Vectors are random; the answer's vector also contains the given share of its question's.
func newTrial(t *testing.T, known float32) *trial {
	rng := rand.New(rand.NewPCG(11, 12))
	words := rand.NewZipf(rng, 1.2, 10, 1500)
	noise := func() []float32 {
		v, sum := make([]float32, 128), 0.0
		for i := range v {
			v[i] = float32(rng.NormFloat64())
			sum += float64(v[i] * v[i])
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(sum))
		}
		return v
	}
	tr, l := &trial{r: openReplica(t)}, newLog(t)
	var ops []oplog.Op
	for i := range 1200 {
		var memory []string
		for range 8 + rng.IntN(10) {
			memory = append(memory, fmt.Sprintf("w%dx", words.Uint64()))
		}
		m, v := remember(fmt.Sprintf("m%04d", i), strings.Join(memory, " ")), noise()
		m.Session, m.Speaker = fmt.Sprint("s", i/20), []string{"ada", "bob"}[i&1]
		if i%4 == 1 {
			question := noise()
			for k := range v {
				v[k] += known * question[k]
			}
			asked := append(memory[2:4:4], fmt.Sprintf("w%dx", words.Uint64()), fmt.Sprintf("w%dx", words.Uint64()))
			tr.questions, tr.answers, tr.vectors = append(tr.questions, strings.Join(asked, " ")), append(tr.answers, m.RID), append(tr.vectors, question)
		}
		m.Vector = oplog.MakeVector(v)
		ops = append(ops, m)
	}
	l.add(1, ops...)
	tr.r.apply(l.records, len(l.records))
	return tr
}

// quality returns the mean recall and nDCG of the first ten.
func (tr *trial) quality(edit func(i int, q *index.Query)) (recall, ndcg float64) {
	for i, text := range tr.questions {
		q := index.Query{Text: text, K: 10}
		edit(i, &q)
		for place, h := range tr.r.ask(q) {
			if h.Memory.RID == tr.answers[i] {
				recall++
				ndcg += 1 / math.Log2(float64(place)+2)
			}
		}
	}
	n := float64(len(tr.questions))
	return recall / n, ndcg / n
}

// TestRandomVectorsDoNoHarm: random vectors leave answers as good as with words alone, and informative vectors
// improve them.
func TestRandomVectorsDoNoHarm(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: measures what is found, one question after the other")
	}
	for _, model := range []struct {
		name  string
		known float32
		gain  float64
	}{{"random", 0, -.006}, {"of use", .5, .05}} {
		tr := newTrial(t, model.known)
		recall, ndcg := tr.quality(func(int, *index.Query) {})
		if recall < .6 || ndcg > .9 {
			t.Fatalf("words alone: recall@10 %.3f, nDCG@10 %.3f: nothing can be seen from these questions", recall, ndcg)
		}
		withRecall, withNDCG := tr.quality(func(i int, q *index.Query) { q.Vector = tr.vectors[i] })
		t.Logf("%s: recall@10 %.4f, by words %.4f; nDCG@10 %.4f, by words %.4f", model.name, withRecall, recall, withNDCG, ndcg)
		if withRecall < recall+min(model.gain, 0) || withNDCG < ndcg+model.gain {
			t.Errorf("vectors %s: recall@10 %.4f, by words %.4f; nDCG@10 %.4f, by words %.4f", model.name, withRecall,
				recall, withNDCG, ndcg)
		}
	}
}

// TestVectorsAnswerWhatWordsDoNot: the nearest row is found where words find nothing, and where words find only other
// rows.
func TestVectorsAnswerWhatWordsDoNot(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: measures what is found, one question after the other")
	}
	t.Parallel()
	tr := newTrial(t, 2)
	unknown := make([]string, len(tr.questions))
	for i := range unknown {
		unknown[i] = "unheard unspoken"
	}
	asked := tr.questions
	tr.questions = unknown
	if recall, ndcg := tr.quality(func(i int, q *index.Query) { q.Vector = tr.vectors[i] }); ndcg < 1 {
		t.Errorf("unknown words: recall@10 %.3f, nDCG@10 %.3f", recall, ndcg)
	}
	for i := range asked { // the words of another question, about another memory
		tr.questions[i] = asked[(i+len(asked)/2)%len(asked)]
	}
	if recall, _ := tr.quality(func(i int, q *index.Query) { q.Vector = tr.vectors[i] }); recall < .9 {
		t.Errorf("words of another memory: recall@10 %.3f", recall)
	}
}
