package api

import (
	"encoding/json"
	"reflect"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// Fresh says how fresh an answer must be. With the zero value, it reflects whatever this node has applied.
type Fresh struct {
	MinIndex    field.Token `json:"min_index" in:"query,body" also:"min_seq" tool:"-" code:"invalid_min_seq" doc:"Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node."`
	Consistency string      `json:"consistency" in:"query,body" tool:"-" is:"string{stale,linearizable}" doc:"linearizable: the answer includes everything acknowledged before the request."`
}

// Wanted returns the required freshness of the answer.
func (f Fresh) Wanted() Fresh { return f }

// Want sets the required freshness.
func (f *Fresh) Want(w Fresh) { *f = w }

// ReadRequest is the request of reads that have no parameters but the freshness.
type ReadRequest struct{ Fresh }

var freshFields = field.Of(reflect.TypeFor[ReadRequest]())

// FreshOf reads min_index and consistency from an object of a dialect, and ignores its other fields.
func FreshOf(fields map[string]json.RawMessage) (Fresh, error) {
	q, own := ReadRequest{}, map[string]json.RawMessage{}
	for _, f := range freshFields {
		if raw, ok := fields[f.Name]; ok {
			own[f.Name] = raw
		}
	}
	if len(own) == 0 {
		return Fresh{}, nil
	}
	err := freshFields.Decode(&q, own, false)
	return q.Fresh, err
}

// Fill sets the fields of a dialect's request. Fields that are left out get their defaults.
func (o Of[Q, A]) Fill(values map[string]any) (*Q, error) {
	body := map[string]json.RawMessage{}
	for name, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		body[name] = raw
	}
	q := new(Q)
	if err := o.Takes().Decode(q, body, false); err != nil {
		return nil, oplog.Errorf(oplog.Invalid, "%s", err)
	}
	return q, nil
}
