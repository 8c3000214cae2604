package bench

import (
	"context"
	"fmt"
)

// Answers returns a peer's answer to a question: the ids of at most k memories, best first.
type Answers func(q QueryLine, k int) ([]string, error)

// An OpenPeer opens the peer with a name from --against for a corpus. The rig closes what it starts.
type OpenPeer func(ctx context.Context, l *Rig, name string, corpus []CorpusLine) (Answers, error)

type peer struct {
	name string
	ask  Answers
}

// openPeers opens all peers of --against.
func (f *Recall) openPeers(ctx context.Context, l *Rig, corpus []CorpusLine) (peers []peer, err error) {
	for _, name := range f.Against {
		ask, err := f.Peer(ctx, l, name, corpus)
		if err != nil {
			return nil, err
		}
		peers = append(peers, peer{name, ask})
	}
	return peers, nil
}

// Rankings is an OpenPeer whose answers are the rankings that another run wrote to a file.
func Rankings(_ context.Context, _ *Rig, path string, _ []CorpusLine) (Answers, error) {
	lines, err := JSONLines[rankedLine](path)
	key := func(conv string, qid any) string { return fmt.Sprint(conv, " ", qid) }
	byQuestion := map[string][]string{}
	for _, l := range lines {
		byQuestion[key(l.Conv, l.QID)] = l.Ranked
	}
	return func(q QueryLine, k int) ([]string, error) {
		ranked, ok := byQuestion[key(q.Conv, q.QID)]
		if !ok {
			return nil, fmt.Errorf("%s has no ranking for question %v of %s", path, q.QID, q.Conv)
		}
		return ranked[:min(len(ranked), k)], nil
	}, err
}

// A difference is our quality minus a peer's, by one measure: the mean over the questions and its 95 % confidence
// interval.
type difference struct {
	Peer    string  `json:"peer"`
	Measure string  `json:"measure"`
	Ours    float64 `json:"ours"`
	Theirs  float64 `json:"theirs"`
	Mean    float64 `json:"difference"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// qualityPairs holds both sides' qualities by question.
type qualityPairs struct{ ours, theirs []quality }

func (p *qualityPairs) add(ours, theirs quality) {
	p.ours, p.theirs = append(p.ours, ours), append(p.theirs, theirs)
}

// differences returns the difference of both sides by each measure.
func (p *qualityPairs) differences(peer string) (all []difference) {
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
		mean, half := Interval(less)
		d.Mean, d.Low, d.High = mean, mean-half, mean+half
		all = append(all, d)
	}
	return all
}
