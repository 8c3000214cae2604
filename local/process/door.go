package process

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// onHost is a row of the table of operations that are done to the host and not to a memory.
type onHost = api.Of[api.HostRequest, api.Nothing]

// run returns the call of a plain method with its parameters, for when the door has allowed it.
func (m method) run(params json.RawMessage) func(*Server) (any, error) {
	do := m.plain(params)
	if m.needs == nil {
		return do
	}
	return func(s *Server) (result any, err error) {
		refused := s.allowed(m.name, *m.needs, func() error {
			result, err = do(s)
			return nil
		})
		return result, cmp.Or(refused, err)
	}
}

// allowed does something to the host, if the door lets it.
func (s *Server) allowed(name string, what onHost, do func() error) error {
	denied := refuse(codeMethod, "%s is not allowed on this node", strings.TrimPrefix(name, "server."))
	return s.cfg.Door.Act(s.Ctx, what, denied, func(context.Context) error { return do() })
}

// Alone is the door of a program without a memory server. It lets a client do what Config.Door lists.
var Alone api.Host = alone{}

type alone struct{}

func (alone) Local(string) (api.Caller, error) { return api.Caller{}, nil }

func (alone) May(c api.Caller, op *api.Op) error {
	if !c.May(op.Scope) {
		return oplog.Errorf(oplog.Denied, "no %s scope", op.Scope)
	}
	return nil
}

func (a alone) Do(ctx context.Context, c api.Caller, op *api.Op, request any) (any, error) {
	if err := a.May(c, op); err != nil {
		return nil, err
	}
	q, ok := request.(*api.HostRequest)
	if !ok {
		return nil, oplog.Errorf(oplog.NotFound, "%s: there is no memory here", op.Name)
	}
	return &api.Nothing{}, q.Run(ctx)
}

// All is everything that the door may let a client do.
var All = []api.Scope{api.Programs, api.Files, api.Git, api.Stop}
