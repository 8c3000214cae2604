package bench

import (
	"errors"
	"fmt"
	"math"

	"github.com/cairndb/cairn/index/stock"
)

// A peer answers the same questions, to be compared with.
type peer interface {
	name() string
	load(corpus string) error
	ask(q queryLine, k int) ([]string, error)
	close() error
}

// openPeer is Bleve, or the rankings of a file.
func openPeer(against string) (peer, error) {
	if against == "bleve" {
		return new(stockBleve), nil
	}
	p := earlier{file: against, ranked: map[string][]string{}}
	err := jsonLines(against, func(l rankedLine) error {
		p.ranked[questionKey(l.Conv, l.QID)] = l.Ranked
		return nil
	})
	return &p, err
}

// earlier is the rankings that another run wrote.
type earlier struct {
	file   string
	ranked map[string][]string
}

func questionKey(conv string, qid any) string { return fmt.Sprint(conv, " ", qid) }

func (p *earlier) name() string      { return p.file }
func (p *earlier) load(string) error { return nil }
func (p *earlier) close() error      { return nil }

func (p *earlier) ask(q queryLine, k int) ([]string, error) {
	ranked, ok := p.ranked[questionKey(q.Conv, q.QID)]
	if !ok {
		return nil, fmt.Errorf("%s has no ranking for question %v of %s", p.file, q.QID, q.Conv)
	}
	return ranked[:min(len(ranked), k)], nil
}

// stockBleve is Bleve as it comes, an index for each conversation of a set.
type stockBleve struct {
	convs map[string]*stock.Index
}

func (p *stockBleve) name() string { return "bleve" }

func (p *stockBleve) load(corpus string) error {
	if err := p.close(); err != nil {
		return err
	}
	p.convs = map[string]*stock.Index{}
	return jsonLines(corpus, func(l corpusLine) (err error) {
		ix := p.convs[l.Conv]
		if ix == nil {
			if ix, err = stock.New(); err != nil {
				return err
			}
			p.convs[l.Conv] = ix
		}
		return ix.Add(l.ID, l.memory().Text)
	})
}

func (p *stockBleve) ask(q queryLine, k int) ([]string, error) {
	if ix := p.convs[q.Conv]; ix != nil {
		return ix.Ask(q.Query, k)
	}
	return nil, nil
}

func (p *stockBleve) close() error {
	var errs []error
	for _, ix := range p.convs {
		errs = append(errs, ix.Close())
	}
	return errors.Join(errs...)
}

// A difference is ours less a peer's, by one measure: the mean over the questions, and the interval that holds it with 95 %.
type difference struct {
	Peer    string  `json:"peer"`
	Measure string  `json:"measure"`
	Ours    float64 `json:"ours"`
	Theirs  float64 `json:"theirs"`
	Mean    float64 `json:"difference"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// pairs are both sides' qualities, question by question.
type pairs struct{ ours, theirs []quality }

func (p *pairs) add(ours, theirs quality) {
	p.ours, p.theirs = append(p.ours, ours), append(p.theirs, theirs)
}

// differences take the means of many questions as normally distributed.
func (p *pairs) differences(peer string) (all []difference) {
	for _, m := range []struct {
		name string
		of   func(quality) float64
	}{
		{"recall@5", func(q quality) float64 { return q.Recall5 }},
		{"recall@10", func(q quality) float64 { return q.Recall10 }},
		{"ndcg@10", func(q quality) float64 { return q.NDCG10 }},
	} {
		d := difference{Peer: peer, Measure: m.name}
		n := float64(len(p.ours))
		for i := range p.ours {
			d.Ours += m.of(p.ours[i]) / n
			d.Theirs += m.of(p.theirs[i]) / n
		}
		d.Mean = d.Ours - d.Theirs
		var squares float64
		for i := range p.ours {
			x := m.of(p.ours[i]) - m.of(p.theirs[i]) - d.Mean
			squares += x * x
		}
		half := 1.96 * math.Sqrt(squares/max(n-1, 1)/n)
		d.Low, d.High = d.Mean-half, d.Mean+half
		all = append(all, d)
	}
	return all
}
