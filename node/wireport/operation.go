package wireport

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// named are the operations that OPERATION asks for: those of HTTP that are one JSON object in and one out.
var named = func() map[string]*api.Op {
	all := map[string]*api.Op{}
	for _, op := range api.Ops {
		if op.HTTP != "" && !op.Stream && op.Body == "" && op.Media == "" {
			all[op.Name] = op
		}
	}
	return all
}()

// operation answers with whatever a row of the table says, asked for by its name. It was counted as one operation before its payload was read; the
// row's right is asked behind that, for the name is in the payload.
func (ss *session) operation(ctx context.Context, c api.Caller, f wire.Frame) error {
	var m wire.Operation
	if err := ss.unpack(f, &m); err != nil {
		return err
	}
	op, known := named[m.Name]
	if !known {
		return oplog.Errorf(oplog.Invalid, "operation %q: there is none of this name that OPERATION can ask for; /openapi.json of a gateway lists them as operationId", m.Name)
	}
	if err := ss.w.cfg.Door.May(c, op); err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	if len(m.Request) > 0 {
		if err := json.Unmarshal(m.Request, &fields); err != nil {
			return oplog.Errorf(oplog.Invalid, "request of %s: want an object", op.Name)
		}
	}
	request := op.New()
	if err := op.Takes().Decode(request, fields, ss.w.cfg.Lenient); err != nil {
		return oplog.Errorf(oplog.Invalid, "%s: %s", op.Name, err)
	}
	answer, err := ss.w.cfg.Door.Do(ctx, c, op, request)
	if err != nil {
		return coded(op, err)
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("answer of %s: %w", op.Name, err)
	}
	return ss.reply(f, wire.OpOperationResult, &wire.OperationResult{Answer: b})
}
