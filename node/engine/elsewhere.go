package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// maxElsewhere bounds what another node's gateway answers.
const maxElsewhere = 64 << 20

// compareTime bounds how long this node waits for another one.
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
	path := api.Recall.Path() + "?" + url.Values{"database": {c.Database}}.Encode()
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

// gapsElsewhere asks the other nodes for their gaps, and leaves out those that do not answer in time.
func (s *Service) gapsElsewhere(ctx context.Context, c api.Caller, namespace string) (lists [][]api.Gap) {
	ask := url.Values{"node": {"1"}, "min_count": {"0"}, "max_avg_top_score": {"1e9"}, "limit": {strconv.Itoa(maxList)}, "database": {c.Database}, "namespace": {namespace}}
	var mu sync.Mutex
	s.eachGateway(ctx, c, http.MethodGet, api.Gaps.Path()+"?"+ask.Encode(), nil, func(n oplog.NodeInfo, body []byte, err error) {
		var got api.GapList
		if n.ID == s.cfg.Member.NodeID || err != nil || json.Unmarshal(body, &got) != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		lists = append(lists, got.Gaps)
	})
	return lists
}

// eachGateway sends a request to the gateways of all nodes at once, with the caller's own token: it reads nothing that the caller could
// not ask for itself. heard is called from several goroutines; all of them are done when eachGateway returns.
func (s *Service) eachGateway(ctx context.Context, c api.Caller, method, path string, body []byte, heard func(n oplog.NodeInfo, answer []byte, err error)) {
	var nodes []oplog.NodeInfo
	_ = s.state.Read(func(v *state.View) error { nodes = v.Nodes(); return nil }) // a closing state knows no nodes
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() {
			answer, err := s.askGateway(ctx, method, s.cfg.Gateways.Scheme+n.HTTP+path, c.Bearer, body)
			heard(n, answer, err)
		})
	}
	all.Wait()
}

func (s *Service) askGateway(ctx context.Context, method, url, auth string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", auth)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.cfg.Gateways.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxElsewhere))
}

// askLeader makes a request of the leader's gateway in the caller's name: with its token.
func (s *Service) askLeader(ctx context.Context, c api.Caller, path string, body any) (json.RawMessage, error) {
	leader, ok := s.leaderInfo()
	if !ok || leader.HTTP == "" || leader.ID == s.cfg.Member.NodeID {
		return nil, s.commit.NotLeader()
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.Gateways.Scheme+leader.HTTP+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", c.Bearer) // a blank one the leader refuses
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.cfg.Gateways.Client.Do(req)
	if err != nil {
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader did not answer", Err: err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxElsewhere))
	if err != nil {
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader's answer broke off", Err: err}
	}
	if resp.StatusCode != http.StatusOK {
		var f struct {
			Error string `json:"error"`
		}
		_ = json.Unmarshal(answer, &f) // an answer without a text is refused all the same
		return nil, oplog.Errorf(oplog.Unavailable, "the leader refused: %s", f.Error)
	}
	return json.RawMessage(answer), nil
}
