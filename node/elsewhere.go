package node

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// compareTime bounds how long a node is waited for.
const compareTime = 3 * time.Second

// compareRecalls asks the gateways of all nodes.
func (s *Service) compareRecalls(ctx context.Context, c api.Caller, q *api.CompareRequest) (*api.Comparison, error) {
	if _, err := query(&q.Question); err != nil {
		return nil, err
	}
	body, err := json.Marshal(q.Question)
	if err != nil {
		return nil, err
	}
	path := "/v1/recall?" + url.Values{"database": {c.Database}}.Encode()
	var mu sync.Mutex
	all := &api.Comparison{Nodes: []api.Compared{}}
	s.eachGateway(ctx, c, http.MethodPost, path, body, func(n oplog.NodeInfo, answer []byte, err error) {
		a := api.Compared{NodeID: n.ID}
		if err != nil || take(&a, answer) != nil {
			a.Error = "did not answer"
		}
		mu.Lock()
		defer mu.Unlock()
		all.Nodes = append(all.Nodes, a)
	})
	slices.SortFunc(all.Nodes, func(a, b api.Compared) int { return cmp.Compare(a.NodeID, b.NodeID) })
	all.Equal = len(all.Nodes) > 0
	for _, a := range all.Nodes {
		all.Equal = all.Equal && a.Error == "" && a.Digest == all.Nodes[0].Digest
	}
	return all, nil
}

// take reads a node's answer.
func take(a *api.Compared, answer []byte) error {
	var got struct {
		Index   oplog.Index `json:"index"`
		Total   int         `json:"total"`
		Results []struct {
			RID   string  `json:"rid"`
			Score float64 `json:"score"`
		} `json:"results"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return err
	}
	h := sha256.New()
	for _, r := range got.Results {
		fmt.Fprintf(h, "%s %.6f\n", r.RID, r.Score) // scores decay between two clocks' readings: what is shown is what is compared
	}
	a.Index, a.Total, a.Digest = got.Index, got.Total, hex.EncodeToString(h.Sum(nil))[:12]
	return nil
}
