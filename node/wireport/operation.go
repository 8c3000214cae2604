package wireport

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// named holds the operations that OPERATION runs: those of HTTP with a JSON object as request and as answer.
var named = func() map[string]*api.Op {
	all := map[string]*api.Op{}
	for _, op := range api.Ops {
		if op.HTTP != "" && !op.Stream && op.Body == "" && op.Media == "" {
			all[op.Name] = op
		}
	}
	return all
}()

// operation answers with whatever a row of the table says, requested by its name. It was counted as one operation
// before its payload was read; the row's right is asked behind that, for the name is in the payload.
func (ss *session) operation(ctx context.Context, c api.Caller, f wire.Frame) error {
	var m wire.Operation
	if err := ss.unpack(f, &m); err != nil {
		return err
	}
	op, known := named[m.Name]
	if !known {
		return unnamed(m.Name)
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
	if err := wire.JSON(b).CheckSize(maxAnswer); err != nil {
		return oversized(op, err)
	}
	return ss.reply(f, wire.OpOperationResult, &wire.OperationResult{Answer: b})
}

// maxAnswer is the longest answer that a client can read, less what is around it.
const maxAnswer = wire.MaxPlainClient - 64

// oversized refuses to send an answer that no client would take, and says how to get it.
func oversized(op *api.Op, err error) error {
	if op.Writes {
		return oplog.Errorf(oplog.TooLarge, "%s was done, but its answer is too long to send: %s", op.Name, err)
	}
	return oplog.Errorf(oplog.TooLarge,
		"the answer of %s is too long to send: %s; ask for less, with a smaller limit where it has one, or over HTTP, %s",
		op.Name, err, op.HTTP)
}

// longestName bounds how many bytes of an unknown name an error repeats.
const longestName = 64

// unnamed rejects a name that is not in named, and says how to ask for the operation, or which name was probably
// meant.
func unnamed(name string) error {
	for _, op := range api.Ops {
		switch {
		case op.Name != name:
		case op.HTTP != "" && op.Wire != 0:
			return oplog.Errorf(oplog.Invalid, "operation %q streams: use HTTP, %s, or the wire message %s", name, op.HTTP, op.Wire)
		case op.HTTP != "":
			return oplog.Errorf(oplog.Invalid, "operation %q streams: use HTTP, %s", name, op.HTTP)
		default:
			return oplog.Errorf(oplog.Invalid, "operation %q is for the dialects of this host: OPERATION runs only those of HTTP", name)
		}
	}
	if len(name) > longestName {
		name = strings.ToValidUTF8(name[:longestName], "") + "…"
	}
	if best := field.Nearest(name, slices.Sorted(maps.Keys(named))); best != "" {
		return oplog.Errorf(oplog.Invalid, "there is no operation %q: did you mean %q?", name, best)
	}
	return oplog.Errorf(oplog.Invalid, "there is no operation %q; /openapi.json of a gateway lists them as operationId", name)
}
