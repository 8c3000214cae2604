package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/cairndb/cairn/node/api"
)

// compareRecalls sends the same question to all members.
func (s *Service) compareRecalls(ctx context.Context, c api.Caller, q *api.CompareRequest) (*api.Comparison, error) {
	question := &api.RecallRequest{Question: q.Question}
	own := c
	own.Quiet = true
	here, err := s.recall(ctx, own, question)
	if err != nil {
		return nil, err
	}
	all := &api.Comparison{Nodes: []api.Compared{summarizeAnswer(s.cfg.Member.NodeID, here)}}
	for id, got := range askOthers(s, api.Recall)(ctx, c, question) {
		all.Nodes = append(all.Nodes, summarizeAnswer(id, got))
	}
	slices.SortFunc(all.Nodes, func(a, b api.Compared) int { return cmp.Compare(a.NodeID, b.NodeID) })
	all.Equal = !slices.ContainsFunc(all.Nodes, func(a api.Compared) bool { return a.Error != "" || a.Digest != all.Nodes[0].Digest })
	return all, nil
}

// summarizeAnswer condenses a node's answer; nil if it has none.
func summarizeAnswer(node uint32, got *api.Recalled) api.Compared {
	if got == nil {
		return api.Compared{NodeID: node, Error: "did not answer"}
	}
	h := sha256.New()
	for _, r := range got.Results {
		fmt.Fprintf(h, "%s %.6f\n", r.RID, r.Score) // scores decay between two readings of a clock: six digits are compared, as they are shown
	}
	return api.Compared{NodeID: node, Index: got.Index, Total: got.Total, Digest: hex.EncodeToString(h.Sum(nil))[:12]}
}
