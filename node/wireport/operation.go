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

// operationsByName holds the operations that OPERATION runs: those of HTTP with a JSON object as request and as
// answer.
var operationsByName = func() map[string]*api.Op {
	all := map[string]*api.Op{}
	for _, op := range api.Ops {
		if op.HTTP != "" && !op.Stream && op.Body == "" && op.Media == "" {
			all[op.Name] = op
		}
	}
	return all
}()

// operation runs a row of the table by its name. One operation was counted before the payload was read. The right is
// checked afterwards, because the name is in the payload.
func (ss *session) operation(ctx context.Context, c api.Caller, f wire.Frame) error {
	var m wire.Operation
	if err := ss.unpack(f, &m); err != nil {
		return err
	}
	op, known := operationsByName[m.Name]
	if !known {
		return unknownOperation(m.Name)
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
		return withCode(op, err)
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("answer of %s: %w", op.Name, err)
	}
	if err := wire.JSON(b).CheckSize(maxAnswer); err != nil {
		return answerTooLarge(op, err)
	}
	return ss.reply(f, wire.OpOperationResult, &wire.OperationResult{Answer: b})
}

// maxAnswer is the longest answer that a client can read, without its envelope.
const maxAnswer = wire.MaxPlainClient - 64

// answerTooLarge rejects an answer that no client accepts, and says how to get it.
func answerTooLarge(op *api.Op, err error) error {
	if op.Writes {
		return oplog.Errorf(oplog.TooLarge, "%s was done, but its answer is too long to send: %s", op.Name, err)
	}
	return oplog.Errorf(oplog.TooLarge,
		"the answer of %s is too long to send: %s; ask for less, with a smaller limit where it has one, or over HTTP, %s",
		op.Name, err, op.HTTP)
}

// maxErrorName bounds the bytes of an unknown name that an error repeats.
const maxErrorName = 64

// unknownOperation rejects a name that is not in operationsByName. It says how to request the operation, or suggests
// a similar name.
func unknownOperation(name string) error {
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
	if len(name) > maxErrorName {
		name = strings.ToValidUTF8(name[:maxErrorName], "") + "…"
	}
	if best := field.Nearest(name, slices.Sorted(maps.Keys(operationsByName))); best != "" {
		return oplog.Errorf(oplog.Invalid, "there is no operation %q: did you mean %q?", name, best)
	}
	return oplog.Errorf(oplog.Invalid, "there is no operation %q; /openapi.json of a gateway lists them as operationId", name)
}
