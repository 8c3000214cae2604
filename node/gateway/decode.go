package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// httpSubjects returns the table of operations without those that HTTP does not serve.
func httpSubjects() (list []api.Subject) {
	for _, s := range api.Subjects {
		s.Ops = slices.DeleteFunc(slices.Clone(s.Ops), func(op *api.Op) bool { return op.HTTP == "" })
		if len(s.Ops) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// httpOps returns the operations that HTTP serves.
func httpOps() (list []*api.Op) {
	for _, s := range httpSubjects() {
		list = append(list, s.Ops...)
	}
	return list
}

// execute decodes a request by its row's description, calls the door, and converts the answer.
func (g *Gateway) execute(q *request, op *api.Op) (any, error) {
	request, fields, lenient := op.New(), op.Takes(), g.cfg.Lenient
	path := map[string][]string{}
	for _, f := range op.InPath() {
		path[f.Name] = []string{q.r.PathValue(f.Name)}
	}
	err := cmp.Or(op.InPath().DecodeText(request, path, true), op.InQuery().DecodeText(request, q.queryValues(), lenient))
	if body := op.InBody(); err == nil && (len(body) > 0 || len(q.body) > 0) {
		if err = q.mergeIdempotencyKey(body); err == nil {
			err = body.Decode(request, q.body, lenient)
		}
	}
	if err != nil {
		return nil, decodingError(fields, err)
	}
	if prepare := preparers[op]; prepare != nil {
		if err := prepare(q, request); err != nil {
			return nil, err
		}
	}
	if w, ok := request.(interface{ Waits() bool }); ok && w.Waits() { // a waiting request does no work
		q.releaseSlot()
	}
	ctx := q.r.Context()
	answer, err := g.cfg.Door.Do(ctx, q.c, op, request)
	if op.Body != "" { // the operation streamed the body at the client's pace, so the deadlines start again
		rc := http.NewResponseController(q.w)
		if ctx.Err() == nil {
			_ = rc.SetReadDeadline(time.Time{}) // only tests' connections lack deadlines
		} else {
			q.w.Header().Set("Connection", "close") // the rest of the body is not read
		}
		_ = rc.SetWriteDeadline(time.Now().Add(answerTimeout))
	}
	if err != nil {
		return reusedKey(q, op, notFoundError(op, err))
	}
	if quirk := quirks[op]; quirk != nil {
		return quirk(q, answer)
	}
	return answer, nil
}

// idempotencyHeader is a header that replaces the field idempotency_key of a body. Only reusedKey treats the two
// differently.
const idempotencyHeader = "Idempotency-Key"

// mergeIdempotencyKey copies the header's idempotency key into a body that has the field and leaves it empty. It
// rejects two different keys.
func (q *request) mergeIdempotencyKey(body field.Object) error {
	const name = "idempotency_key"
	key := field.HeaderText(q.r.Header.Get(idempotencyHeader))
	if key == "" || !slices.ContainsFunc(body, func(f field.Field) bool { return f.Name == name }) {
		return nil
	}
	var own string
	if raw := q.body[name]; json.Unmarshal(raw, &own) == nil && own != "" && own != key {
		return fmt.Errorf("%s is not the one of the header %s", name, idempotencyHeader)
	}
	if own == "" {
		raw, err := json.Marshal(key)
		if err != nil {
			return err
		}
		if q.body == nil {
			q.body = map[string]json.RawMessage{}
		}
		q.body[name] = raw
	}
	return nil
}

// notFoundError gives a NotFound error the code that the operation's row names, if it names one.
func notFoundError(op *api.Op, err error) error {
	var refused *api.Refusal
	if op.Missing != "" && !errors.As(err, &refused) && errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
		return &api.Refusal{Code: op.Missing, Err: err}
	}
	return err
}

// reusedKey answers a remember whose idempotency key was used with another text. YantrikDB's clients raise their own
// error for it only when the status is 200. A request that names its key in the header, which they never send, is
// rejected with 409 like any conflict.
func reusedKey(q *request, op *api.Op, err error) (any, error) {
	refused, ok := errors.AsType[*api.Refusal](err)
	if op != api.Remember.Op || !ok || refused.More["idempotency_conflict"] != true || q.r.Header.Get(idempotencyHeader) != "" {
		return nil, err
	}
	_, f, _ := q.g.reject(q.w, err)
	rid, _ := refused.More["rid"].(string)
	return &api.Remembered{RID: rid, ReusedKey: api.ReusedKey{Stored: new(bool), Conflict: true, Error: f.Error, Code: f.Code}}, nil
}

// decodingError returns the rejection of a request that its row does not describe.
func decodingError(takes field.Object, err error) error {
	refused := oplog.Errorf(oplog.Invalid, "%s", err)
	var e *field.Error
	if !errors.As(err, &e) {
		return refused
	}
	for _, f := range takes {
		if f.Code != "" && e.Param && (f.Name == e.Field || slices.Contains(f.Others, e.Field)) {
			return &api.Refusal{Code: f.Code, Err: refused}
		}
	}
	if e.Param {
		return &api.Refusal{Code: "invalid_query_parameter", Err: refused}
	}
	return refused
}

// queryValues returns the query parameters without database, which selects the caller's database.
func (q *request) queryValues() map[string][]string {
	params := maps.Clone(q.r.URL.Query())
	delete(params, "database")
	return params
}
