package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// A peer answers the same questions, to be compared with.
type peer interface {
	name() string
	load(corpus string) error
	ask(q queryLine, k int) ([]string, error)
	close() error
}

// openPeers are the engines and files of --against.
func openPeers(ctx context.Context, against []string) (peers []peer, err error) {
	for _, name := range against {
		if open, ok := searchEngines[name]; ok {
			peers = append(peers, &enginePeer{label: name, open: func() (searchEngine, error) { return open(ctx, "") }})
			continue
		}
		p := earlier{file: name, ranked: map[string][]string{}}
		err := jsonLines(name, func(l rankedLine) error {
			p.ranked[questionKey(l.Conv, l.QID)] = l.Ranked
			return nil
		})
		if err != nil {
			return nil, err
		}
		peers = append(peers, &p)
	}
	return peers, nil
}

// closePeers closes all of them.
func closePeers(peers []peer) error {
	var errs []error
	for _, p := range peers {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
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

// enginePeer is an engine in memory, anew for each set.
type enginePeer struct {
	label  string
	open   func() (searchEngine, error)
	engine searchEngine
}

func (p *enginePeer) name() string { return p.label }

func (p *enginePeer) load(corpus string) (err error) {
	if err := p.close(); err != nil {
		return err
	}
	if p.engine, err = p.open(); err != nil {
		return err
	}
	return jsonLines(corpus, func(l corpusLine) error { return p.engine.add(l.Conv, l.ID, l.memory().Text) })
}

func (p *enginePeer) ask(q queryLine, k int) ([]string, error) {
	ids, _, err := p.engine.ask(q.Conv, q.Query, k)
	return ids, err
}

func (p *enginePeer) close() error {
	if p.engine == nil {
		return nil
	}
	e := p.engine
	p.engine = nil
	return e.close()
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
