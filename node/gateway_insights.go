package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

var insightRoutes = []route{
	{name: "gaps", method: "GET", path: "/v1/insights/gaps", also: []string{"/v1/knowledge_gaps"}, scope: api.Read, handle: httpGaps,
		summary: "Questions that were asked often and answered badly, on all nodes since they started; node=1 asks this one alone",
		query:   "namespace:string min_count:integer[0..] max_avg_top_score:number limit:integer[0..] node:boolean", result: "count:integer! gaps:[]Gap!"},
}

// gapDefaults are what a client means that says nothing.
const (
	gapCount = 2
	gapTop   = 0.5
	gapLimit = 10
)

func httpGaps(g *gateway, q *request) (any, error) {
	gq := GapQuery{Namespace: q.param("namespace"), MinCount: uint64(q.count("min_count", gapCount)), MaxTop: gapTop, Limit: min(q.count("limit", gapLimit), maxList)}
	if top, err := strconv.ParseFloat(q.param("max_avg_top_score"), 64); err == nil {
		gq.MaxTop = top
	}
	list := g.gaps(q, gq)
	return map[string]any{"count": len(list), "gaps": list}, nil
}

// gaps are what this node and the others know.
func (g *gateway) gaps(q *request, gq GapQuery) []Gap {
	lists := [][]Gap{g.s.asked.gaps(q.c.DB, gq.Namespace)}
	if !q.on("node") {
		lists = append(lists, g.gapsElsewhere(q, gq.Namespace)...)
	}
	return mergeGaps(lists, gq)
}

// on says whether a switch of the query is on.
func (q *request) on(name string) bool {
	v := q.param(name)
	return v == "1" || v == "true"
}

// gapsElsewhere asks the other nodes. One that does not answer in time is left out: a list of gaps is worth having
// without it.
func (g *gateway) gapsElsewhere(q *request, namespace string) [][]Gap {
	ask := url.Values{"node": {"1"}, "min_count": {"0"}, "max_avg_top_score": {"1e9"}, "limit": {strconv.Itoa(maxList)}, "database": {q.c.Database}, "namespace": {namespace}}
	path := "/v1/insights/gaps?" + ask.Encode()
	var mu sync.Mutex
	var lists [][]Gap
	g.s.eachGateway(q.r.Context(), q.c, http.MethodGet, path, nil, func(n oplog.NodeInfo, body []byte, err error) {
		var got struct {
			Gaps []Gap `json:"gaps"`
		}
		if n.ID == g.s.cfg.NodeID || err != nil || json.Unmarshal(body, &got) != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		lists = append(lists, got.Gaps)
	})
	return lists
}

// eachGateway makes a request of every node's gateway at once, with the caller's own token, so that it learns nothing it
// might not ask itself. heard is called from several goroutines; all of them are done when eachGateway returns.
func (s *Service) eachGateway(ctx context.Context, c api.Caller, method, path string, body []byte, heard func(n oplog.NodeInfo, answer []byte, err error)) {
	var nodes []oplog.NodeInfo
	_ = s.state.Read(func(v *oplog.View) error { nodes = v.Nodes(); return nil }) // a closing state knows no nodes
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() {
			answer, err := s.askGateway(ctx, method, s.cfg.scheme()+n.HTTP+path, c.Bearer, body)
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
	resp, err := s.gateways.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxBody))
}
