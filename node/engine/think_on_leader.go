package engine

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
)

// thinkOnLeader asks the leader for a round, where a surface passes its writes on: a round is no entry that could be forwarded. The
// leader is asked with the token of the request, or, where the caller was let in by this node, with the cluster's own secret.
// The answer comes when this node has what the leader decided.
func (s *Service) thinkOnLeader(ctx context.Context, c api.Caller, r api.ThinkRequest) (*api.Thought, error) {
	started := time.Now()
	if c.Bearer == "" {
		if s.cfg.Gateways.Secret == "" {
			return nil, s.commit.NotLeader()
		}
		c.Bearer = "Bearer " + s.cfg.Gateways.Secret
	}
	raw, err := s.askLeader(ctx, c, api.Think.Path()+"?database="+url.QueryEscape(c.Database), r)
	if err != nil {
		return nil, err
	}
	a := &api.Thought{}
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader's answer to think cannot be read", Err: err}
	}
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil {
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader has finished, but this node has not applied the result yet", Err: err}
	}
	a.Millis, a.Index = time.Since(started).Milliseconds(), s.commit.Indexed()
	return a, nil
}
