package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/prompt"
	"github.com/cairndb/cairn/oplog"
)

// A block is made of so many matches at most: as many as lines of tokensALine would fill it.
const (
	mostPromptRows  = 50
	leastPromptRows = 8
	tokensALine     = 20
)

// prompt returns the memories that answer a question as a block for a prompt.
func (s *Service) prompt(ctx context.Context, c api.Caller, q *api.PromptRequest) (*api.PromptAnswer, error) {
	switch {
	case q.Budget > api.MaxPromptTokens:
		return nil, oplog.Errorf(oplog.Invalid, "max_tokens is %d: at most %d", q.Budget, api.MaxPromptTokens)
	case len(q.Namespaces) > api.MaxPromptNamespaces:
		return nil, oplog.Errorf(oplog.Invalid, "%d namespaces: at most %d", len(q.Namespaces), api.MaxPromptNamespaces)
	}
	if l := q.Letters; l != 0 && (l < .1 || l > 100) {
		return nil, oplog.Errorf(oplog.Invalid, "chars_per_token is %g: want 0, or .1 to 100", l)
	}
	found, err := s.searchNamespaces(ctx, c, q)
	if err != nil {
		return nil, err
	}
	rows := make([]prompt.Row, len(found.Hits))
	for i, h := range found.Hits {
		m := h.Memory
		rows[i] = prompt.Row{ID: prompt.ID(uint64(m.Seq)), Namespace: m.Namespace, Source: m.Source, Text: m.Text,
			Created: m.Created.Time()}
		if h.Corrected != 0 {
			rows[i].Marks = append(rows[i].Marks, prompt.Corrected(h.Corrected.Time()))
		}
		if class := lowTrust(m.Trust); class != "" {
			rows[i].Marks = append(rows[i].Marks, prompt.From(class))
		}
		if h.By.RID != "" {
			rows[i].Marks = append(rows[i].Marks, prompt.SupersededBy(prompt.ID(uint64(h.By.Seq))))
		}
		if h.Later.RID != "" {
			rows[i].Marks = append(rows[i].Marks, prompt.Outdated(prompt.ID(uint64(h.Later.Seq))))
		}
		for _, a := range h.Against {
			rows[i].Marks = append(rows[i].Marks, prompt.Contradicts(prompt.ID(uint64(a.Seq)), a.Age))
		}
	}
	b := prompt.Write(q.Text, rows, prompt.Budget{Tokens: q.Budget, Letters: q.Letters})
	a := &api.PromptAnswer{Text: b.Text, Tokens: b.Tokens, Index: found.Index, Lag: found.Lag,
		Memories: []api.PromptMemory{}, Left: []api.PromptLeft{}}
	for _, t := range b.Taken {
		h := found.Hits[t.Row]
		a.Memories = append(a.Memories,
			api.PromptMemory{RID: h.Memory.RID, Short: rows[t.Row].ID, Namespace: h.Memory.Namespace, Score: h.Score,
				Tokens: t.Tokens, Cut: t.Cut})
	}
	for _, l := range b.Left {
		a.Left = append(a.Left, api.PromptLeft{RID: found.Hits[l.Row].Memory.RID, Reason: l.Reason})
	}
	return a, nil
}

// searchNamespaces returns the memories in each of the namespaces that answer the question, best first. A score is a
// probability, so scores of different namespaces compare. Without a question it returns the newest.
func (s *Service) searchNamespaces(ctx context.Context, c api.Caller, q *api.PromptRequest) (all Answer, err error) {
	spaces := []string{""}
	if len(q.Namespaces) > 0 {
		spaces = slices.Compact(slices.Sorted(slices.Values(q.Namespaces)))
	}
	asked := api.Question{Text: q.Text, K: min(max(q.Budget/tokensALine, leastPromptRows), mostPromptRows), Expand: true,
		MinScore: q.MinScore, Quiet: q.Quiet, Filter: q.Filter, Superseded: q.Superseded}
	for i, space := range spaces {
		asked.Namespace = space
		one, err := query(c, &asked)
		if err != nil {
			return all, err
		}
		found, err := s.searchCurrent(ctx, c, one, &asked)
		if err != nil {
			return all, err
		}
		if found.Hits = append(all.Hits, found.Hits...); i > 0 {
			found.Index = min(all.Index, found.Index)
		}
		all = found
	}
	lists := strings.TrimSpace(q.Text) == ""
	slices.SortStableFunc(all.Hits, func(a, b index.Hit) int {
		if lists {
			return cmp.Compare(b.Memory.Created, a.Memory.Created)
		}
		return cmp.Compare(b.Score, a.Score)
	})
	all.Hits = all.Hits[:min(len(all.Hits), asked.K)]
	return all, nil
}

// packContext returns the same block in the format of another server's packs.
func (s *Service) packContext(ctx context.Context, c api.Caller, q *api.PackContextRequest) (*api.PackContextAnswer, error) {
	a := &api.PackContextAnswer{Pending: []string{}, Poisoned: []string{}}
	block, err := s.prompt(ctx, c, &api.PromptRequest{Text: q.Text, Budget: q.Budget, MinScore: api.PromptScore})
	if err == nil && block.Text != "" {
		a.Context = &block.Text
	}
	return a, err
}
