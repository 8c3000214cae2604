package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	all := &api.Comparison{Nodes: []api.Compared{}, Equal: true}
	for _, r := range s.eachGateway(ctx, c, http.MethodPost, api.Recall.Path()+"?"+url.Values{"database": {c.Database}}.Encode(), body) {
		a := api.Compared{NodeID: r.node}
		if r.err != nil || readCompared(&a, r.answer) != nil {
			a.Error = "did not answer"
		}
		all.Nodes = append(all.Nodes, a)
		all.Equal = all.Equal && a.Error == "" && a.Digest == all.Nodes[0].Digest
	}
	all.Equal = all.Equal && len(all.Nodes) > 0
	return all, nil
}

// readCompared reads a node's answer.
func readCompared(a *api.Compared, answer []byte) error {
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
		fmt.Fprintf(h, "%s %.6f\n", r.RID, r.Score) // scores decay between two readings of a clock: six digits are compared, as they are shown
	}
	a.Index, a.Total, a.Digest = got.Index, got.Total, hex.EncodeToString(h.Sum(nil))[:12]
	return nil
}

// elsewhere asks the other nodes what a row answers on each of them alone. A node that does not answer in time has nil.
func elsewhere[Q, A any](ctx context.Context, s *Service, c api.Caller, o api.Of[Q, A], ask url.Values) map[uint32]*A {
	ask.Set("node", "1")
	ask.Set("database", c.Database)
	all := map[uint32]*A{}
	for _, r := range s.eachGateway(ctx, c, http.MethodGet, o.Path()+"?"+ask.Encode(), nil) {
		if r.node == s.cfg.Member.NodeID {
			continue
		}
		got := new(A)
		if r.err != nil || json.Unmarshal(r.answer, got) != nil {
			got = nil
		}
		all[r.node] = got
	}
	return all
}

// A reply is what the gateway of a node answered.
type reply struct {
	node   uint32
	answer []byte
	err    error
}

// eachGateway sends a request to the gateways of all nodes at once, with the caller's own token: it reads nothing that the caller could
// not ask for itself. The replies are in the order of the nodes' numbers.
func (s *Service) eachGateway(ctx context.Context, c api.Caller, method, path string, body []byte) []reply {
	nodes, _ := read(s, (*state.View).Nodes) // a closing state knows no nodes
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	replies := make([]reply, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			status, answer, err := s.askGateway(ctx, method, n.HTTP, path, c.Bearer, body)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("status %d", status)
			}
			replies[i] = reply{n.ID, answer, err}
		})
	}
	all.Wait()
	return replies
}

// askGateway sends a request to a gateway. The status is 0 when nothing came back; beside another one, an error means that the answer broke off.
func (s *Service) askGateway(ctx context.Context, method, addr, path, auth string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.cfg.Gateways.Scheme+addr+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", auth)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.cfg.Gateways.Client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxElsewhere))
	return resp.StatusCode, answer, err
}

// askLeader makes a request of the leader's gateway in the caller's name: with its token. A blank one the leader refuses.
func (s *Service) askLeader(ctx context.Context, c api.Caller, path string, body any) ([]byte, error) {
	leader, ok := s.leaderInfo()
	if !ok || leader.HTTP == "" || leader.ID == s.cfg.Member.NodeID {
		return nil, s.commit.NotLeader()
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	switch status, answer, err := s.askGateway(ctx, http.MethodPost, leader.HTTP, path, c.Bearer, b); {
	case err != nil && status == 0:
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader did not answer", Err: err}
	case err != nil:
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader's answer broke off", Err: err}
	case status != http.StatusOK:
		var f struct {
			Error string `json:"error"`
		}
		_ = json.Unmarshal(answer, &f) // an answer without a text is refused all the same
		return nil, oplog.Errorf(oplog.Unavailable, "the leader refused: %s", f.Error)
	default:
		return answer, nil
	}
}
