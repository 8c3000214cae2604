package node

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// askLeader makes a request of the leader's gateway in the caller's name: with its token.
func (s *Service) askLeader(ctx context.Context, c api.Caller, path string, body any) (json.RawMessage, error) {
	leader, ok := s.leaderInfo()
	if !ok || leader.HTTP == "" || leader.ID == s.cfg.NodeID {
		return nil, s.notLeader()
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.scheme()+leader.HTTP+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", c.Bearer) // a blank one the leader refuses
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.gateways.Do(req)
	if err != nil {
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader did not answer", Err: err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxSmall))
	if err != nil {
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader's answer broke off", Err: err}
	}
	if resp.StatusCode != http.StatusOK {
		var f failure
		_ = json.Unmarshal(answer, &f) // an answer without a text is refused all the same
		return nil, oplog.Errorf(oplog.Unavailable, "the leader refused: %s", f.Error)
	}
	return json.RawMessage(answer), nil
}
