package bench

import "math"

// quality is what an evaluation found, of all questions or of one category.
type quality struct {
	Category  string  `json:"category"`
	Questions int     `json:"questions"`
	Recall5   float64 `json:"recall@5"`
	Recall10  float64 `json:"recall@10"`
	Recall20  float64 `json:"recall@20"`
	MRR       float64 `json:"mrr"`
	NDCG10    float64 `json:"ndcg@10"`
}

// judge is the quality of one ranking.
func judge(ranked, evidence []string) quality {
	q := quality{Questions: 1}
	want := map[string]bool{}
	for _, e := range evidence {
		want[e] = true
	}
	n := float64(len(want))
	var hits, dcg, ideal float64
	first := 0
	for i, id := range ranked {
		if want[id] {
			delete(want, id) // counts once
			hits++
			if first == 0 {
				first = i + 1
			}
			if i < 10 {
				dcg += 1 / math.Log2(float64(i)+2)
			}
		}
		switch i {
		case 4:
			q.Recall5 += hits / n
		case 9:
			q.Recall10 += hits / n
		case 19:
			q.Recall20 += hits / n
		}
	}
	for _, at := range []struct {
		k   int
		sum *float64
	}{{5, &q.Recall5}, {10, &q.Recall10}, {20, &q.Recall20}} {
		if len(ranked) < at.k { // a short list ends where it ends
			*at.sum += hits / n
		}
	}
	for i := range min(int(n), 10) {
		ideal += 1 / math.Log2(float64(i)+2)
	}
	q.NDCG10 += dcg / ideal
	if first > 0 {
		q.MRR += 1 / float64(first)
	}
	return q
}

// add adds questions. Fields hold sums until mean.
func (q *quality) add(o quality) {
	q.Questions += o.Questions
	q.Recall5 += o.Recall5
	q.Recall10 += o.Recall10
	q.Recall20 += o.Recall20
	q.MRR += o.MRR
	q.NDCG10 += o.NDCG10
}

func (q *quality) mean() quality {
	n := float64(q.Questions)
	return quality{q.Category, q.Questions, q.Recall5 / n, q.Recall10 / n, q.Recall20 / n, q.MRR / n, q.NDCG10 / n}
}
