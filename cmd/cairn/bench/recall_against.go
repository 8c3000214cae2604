package bench

import (
	"context"
	"fmt"
)

// A peer answers the questions of a set, to be compared with: an engine that has the same corpus, or the rankings of an earlier run.
type peer struct {
	name string
	ask  func(q queryLine, k int) ([]string, error)
}

// openPeers opens the engines and files of --against for a corpus. The engines end with the lab.
func openPeers(ctx context.Context, l *lab, against []string, corpus []corpusLine) (peers []peer, err error) {
	for _, name := range against {
		p := peer{name: name}
		if searchEngines[name] != nil {
			p.ask, err = engineAnswers(ctx, l, name, corpus)
		} else {
			p.ask, err = fileAnswers(name)
		}
		if err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	return peers, nil
}

// engineAnswers asks an engine in memory.
func engineAnswers(ctx context.Context, l *lab, name string, corpus []corpusLine) (func(queryLine, int) ([]string, error), error) {
	e, err := l.engine(ctx, name, "")
	if err != nil {
		return nil, err
	}
	for _, c := range corpus {
		if err := e.add(c.Conv, c.ID, c.memory().Text); err != nil {
			return nil, err
		}
	}
	return func(q queryLine, k int) ([]string, error) {
		ids, _, err := e.ask(q.Conv, q.Query, k)
		return ids, err
	}, nil
}

// fileAnswers looks up the rankings that another run wrote.
func fileAnswers(path string) (func(queryLine, int) ([]string, error), error) {
	lines, err := jsonLines[rankedLine](path)
	key := func(conv string, qid any) string { return fmt.Sprint(conv, " ", qid) }
	byQuestion := map[string][]string{}
	for _, l := range lines {
		byQuestion[key(l.Conv, l.QID)] = l.Ranked
	}
	return func(q queryLine, k int) ([]string, error) {
		ranked, ok := byQuestion[key(q.Conv, q.QID)]
		if !ok {
			return nil, fmt.Errorf("%s has no ranking for question %v of %s", path, q.QID, q.Conv)
		}
		return ranked[:min(len(ranked), k)], nil
	}, err
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

// differences compares both sides by each measure.
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
		less := make([]float64, len(p.ours))
		for i := range p.ours {
			ours, theirs := m.of(p.ours[i]), m.of(p.theirs[i])
			d.Ours, d.Theirs, less[i] = d.Ours+ours/n, d.Theirs+theirs/n, ours-theirs
		}
		mean, half := interval(less)
		d.Mean, d.Low, d.High = mean, mean-half, mean+half
		all = append(all, d)
	}
	return all
}
