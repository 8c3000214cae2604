package bench

import "math"

// quality holds the retrieval quality over some questions: all or those of one category.
type quality struct {
	Category  string  `json:"category"`
	Questions int     `json:"questions"`
	Recall5   float64 `json:"recall@5"`
	Recall10  float64 `json:"recall@10"`
	Recall20  float64 `json:"recall@20"`
	MRR       float64 `json:"mrr"`
	NDCG10    float64 `json:"ndcg@10"`
}

// rate returns the quality of one ranking.
func rate(ranked, evidence []string) quality {
	q := quality{Questions: 1}
	want := map[string]bool{}
	for _, e := range evidence {
		want[e] = true
	}
	n := float64(len(want))
	var ideal float64
	for i := range min(len(want), 10) {
		ideal += gain(i)
	}
	for i, id := range ranked {
		if !want[id] {
			continue
		}
		delete(want, id) // count each id once
		if q.MRR == 0 {
			q.MRR = 1 / float64(i+1)
		}
		for _, at := range []struct {
			k   int
			sum *float64
			by  float64
		}{{5, &q.Recall5, 1}, {10, &q.Recall10, 1}, {20, &q.Recall20, 1}, {10, &q.NDCG10, gain(i)}} {
			if i < at.k {
				*at.sum += at.by
			}
		}
	}
	q.Recall5, q.Recall10, q.Recall20, q.NDCG10 = q.Recall5/n, q.Recall10/n, q.Recall20/n, q.NDCG10/ideal
	return q
}

// gain returns the DCG weight of a hit at a rank, counted from 0.
func gain(place int) float64 { return 1 / math.Log2(float64(place)+2) }

// sums returns pointers to the fields that add sums up.
func (q *quality) sums() []*float64 {
	return []*float64{&q.Recall5, &q.Recall10, &q.Recall20, &q.MRR, &q.NDCG10}
}

// add adds the questions of o. Until mean is called, the fields hold sums.
func (q *quality) add(o quality) {
	q.Questions += o.Questions
	for i, of := range o.sums() {
		*q.sums()[i] += *of
	}
}

func (q quality) mean() quality {
	for _, sum := range q.sums() {
		*sum /= float64(q.Questions)
	}
	return q
}
