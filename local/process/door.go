package process

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// hostOperation is an operation on the host, as opposed to one on a memory.
type hostOperation = api.Of[api.HostRequest, api.Nothing]

// run decodes the parameters and returns a function that runs a plain method after the door has allowed it.
func (m method) run(params json.RawMessage) func(*Server) (any, error) {
	do := m.plain(params)
	if m.permission == nil {
		return do
	}
	return func(s *Server) (result any, err error) {
		denied := s.withPermission(m.name, *m.permission, func() error {
			result, err = do(s)
			return nil
		})
		return result, cmp.Or(denied, err)
	}
}

// withPermission runs do if the door allows the operation. name is the method in the error.
func (s *Server) withPermission(name string, op hostOperation, do func() error) error {
	denied := rpcErrorf(codeMethod, "%s is not allowed on this node", strings.TrimPrefix(name, "server."))
	return s.cfg.Door.Act(s.Ctx, op, denied, func(context.Context) error { return do() })
}

// Alone is the door of a program without a memory server. It allows the scopes that Config.Door lists.
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

// AllScopes lists every scope that this protocol uses.
var AllScopes = []api.Scope{api.Programs, api.Files, api.Git, api.Stop}
