package engine

import (
	"context"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// The functions of the rows that only the dialects of this host call.

// awaitFound waits until recalls find everything in the state, if the request asks for that. The door has waited for
// the other kinds of freshness.
func (s *Service) awaitFound(ctx context.Context, c api.Caller, q *api.AwaitRequest) (*api.Nothing, error) {
	if !q.Found {
		return &api.Nothing{}, nil
	}
	_, err := s.write(ctx, c) // nothing, and waits for the index
	return &api.Nothing{}, err
}

// MaxHits and MaxK are equal, or this does not build: api must not import the index.
var _ = [1]struct{}{}[api.MaxHits-index.MaxK]

func (s *Service) hostSearch(ctx context.Context, c api.Caller, asked *api.SearchRequest) (*api.Found, error) {
	q := index.Query{Text: asked.Text, Vector: asked.Vector, K: asked.K, Expand: asked.Expand, MinScore: asked.MinScore,
		Quiet: asked.Quiet, Now: asked.Now,
		Filter: index.Filter{Types: asked.Types, Namespace: asked.Namespace, Tier: asked.Tier, Private: asked.Private,
			Within: asked.Within, Since: asked.Since, Until: asked.Until}}
	match, err := parseFilter(asked.Match)
	if err != nil {
		return nil, err
	}
	q.Match = match
	if asked.Admit != nil {
		q.Admit = func(f index.Facts) bool { return asked.Admit(api.Facts(f)) }
	}
	if asked.Pick != nil {
		q.Pick = func(hits []index.Hit) []index.Hit { return pickHits(hits, asked.Pick) }
	}
	a, err := s.search(ctx, c, q)
	if err != nil {
		return nil, err
	}
	return &api.Found{Hits: hitsOf(a.Hits), Index: a.Index, Matched: a.Info.Matched, Below: a.Info.Below}, nil
}

func hitsOf(found []index.Hit) []api.Hit {
	return api.Each(found, func(h index.Hit) api.Hit { return api.Hit{Memory: h.Memory, Score: h.Score, Why: h.Why} })
}

// pickHits returns the hits that a dialect's own function selects from those of the index.
func pickHits(hits []index.Hit, pick func([]api.Hit) []api.Hit) (left []index.Hit) {
	by := make(map[*oplog.Memory]index.Hit, len(hits))
	for _, h := range hits {
		by[h.Memory] = h
	}
	for _, h := range pick(hitsOf(hits)) {
		left = append(left, by[h.Memory])
	}
	return left
}

func (s *Service) capture(ctx context.Context, c api.Caller, q *api.CaptureRequest) (*api.Captured, error) {
	secrets, err := s.redactor(c.DB)
	if err != nil {
		return nil, err
	}
	var events []api.CapturedEvent
	work := func() (err error) {
		events, err = q.Make(secrets.toolOutput(q.Said))
		return err
	}
	if q.Turn != nil {
		err = q.Turn(work)
	} else {
		err = work()
	}
	if err != nil || len(events) == 0 {
		return &api.Captured{}, err
	}
	if c, err = s.count(c, api.Capture.Op, len(events)); err != nil {
		return nil, err
	}
	if err := s.checkQuota(c, len(events), nil); err != nil {
		return nil, err
	}
	ops := make([]oplog.Op, 0, 2*len(events))
	for _, e := range events {
		if e.Summary != nil {
			e.Summary.Stamp = c.Stamp()
			e.Summary.Trust = oplog.LowestTrust(e.Summary.Trust, oplog.TrustTool) // what programs printed
		}
		ops = append(ops, e.Event, e.Summary)
	}
	w, err := s.writeOps(ctx, c, "", ops...)
	a := &api.Captured{Redacted: secrets.found.Kinds()}
	for i := 0; i+1 < len(w.Results); i += 2 {
		a.IDs = append(a.IDs, api.CapturedIDs{Event: oplog.EventID(w.Results[i].Num), Summary: oplog.Seq(w.Results[i+1].Num)})
	}
	return a, err
}

func (s *Service) forgetMany(ctx context.Context, c api.Caller, q *api.ForgetManyRequest) (*api.ForgottenMany, error) {
	now := oplog.At(s.now())
	w, err := s.write(ctx, c, api.Each(q.RIDs, func(rid string) oplog.Op { return &oplog.Forget{RID: rid, At: now} })...)
	return &api.ForgottenMany{Found: api.Each(w.Results, func(r oplog.Result) bool { return r.Changed })}, err
}

// sweepNow forgets the expired memories of a namespace without waiting for the leader's sweep.
func (s *Service) sweepNow(ctx context.Context, c api.Caller, q *api.SweepNowRequest) (*api.Swept, error) {
	due, err := s.due(c.DB, maxSweepStep, func(m *oplog.Memory) bool { return m.Namespace == q.Namespace })
	if err != nil || len(due) == 0 {
		return &api.Swept{}, err
	}
	w, err := s.write(ctx, c, &oplog.Sweep{RIDs: due})
	return &api.Swept{Forgotten: w.First.Num}, err
}

func (s *Service) purgeStep(ctx context.Context, c api.Caller, q *oplog.Purge) (*api.PurgedStep, error) {
	w, err := s.write(ctx, c, q)
	return &api.PurgedStep{Purged: w.First.Num, Next: w.First.ID}, err
}

func (s *Service) keepIntent(ctx context.Context, c api.Caller, q *api.KeepIntentRequest) (*api.Nothing, error) {
	_, err := s.writeOps(ctx, c, q.Key, q.Memory, q.Receipt)
	return &api.Nothing{}, err
}

func (s *Service) keepIdentity(ctx context.Context, c api.Caller, q *api.KeepIdentityRequest) (*api.Nothing, error) {
	ops := []oplog.Op{q.Identity}
	for _, g := range q.Grants {
		ops = append(ops, g)
	}
	_, err := s.write(ctx, c, ops...)
	return &api.Nothing{}, err
}

func (s *Service) grant(ctx context.Context, c api.Caller, q *oplog.Grant) (*api.Nothing, error) {
	_, err := s.write(ctx, c, q)
	return &api.Nothing{}, err
}

func (s *Service) revoke(ctx context.Context, c api.Caller, q *oplog.Revoke) (*api.Revoked, error) {
	w, err := s.write(ctx, c, q)
	a := &api.Revoked{Changed: w.First.Changed}
	if err == nil {
		// when it cannot be read, the answer says that the capability is revoked, and no more
		a.Action, _ = state.Get(s.state, func(v *state.View) string { g, _ := v.Grant(c.DB, q.Signature); return g.Action })
	}
	return a, err
}

func (s *Service) purgeGrants(ctx context.Context, c api.Caller, q *oplog.PurgeGrants) (*api.PurgedGrants, error) {
	w, err := s.write(ctx, c, q)
	return &api.PurgedGrants{Purged: w.First.Num}, err
}

// onHost runs an operation of a dialect on this host. The door has checked the scope, which only the configuration
// gives.
func (s *Service) onHost(ctx context.Context, _ api.Caller, q *api.HostRequest) (*api.Nothing, error) {
	if q.Run == nil {
		return &api.Nothing{}, nil
	}
	return &api.Nothing{}, q.Run(ctx)
}

func (s *Service) loseStream(context.Context, api.Caller, *api.Nothing) (*api.Nothing, error) {
	s.measured.dropped.Add(1)
	return &api.Nothing{}, nil
}
