package api

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/cairndb/cairn/oplog"
)

// An Exchange is one call of the API of another service, which the gateway serves at its own paths.
type Exchange struct {
	Door   Door
	R      *http.Request
	C      Caller
	Decode func(to any) error // reads the body; without one it leaves its argument as it is
	Params url.Values
	Fresh  Fresh // how fresh the answer must be
}

// NewExchange returns an Exchange, and reads from the parameters how fresh the answer must be.
func NewExchange(d Door, r *http.Request, c Caller, decode func(to any) error) (x Exchange, err error) {
	x = Exchange{Door: d, R: r, C: c, Decode: decode, Params: r.URL.Query()}
	said := map[string]json.RawMessage{}
	for _, f := range freshFields {
		if v := x.Params.Get(f.Name); v != "" {
			said[f.Name], _ = json.Marshal(v) // a string always encodes
		}
	}
	if x.Fresh, err = FreshOf(said); err != nil {
		return x, oplog.Errorf(oplog.Invalid, "%s", err)
	}
	return x, nil
}

// For fills a request, sets how fresh the answer of a read must be, and sends the request through the door.
func (o Of[Q, A]) For(x *Exchange, values map[string]any) (*A, error) {
	q, err := o.Fill(values)
	if err != nil {
		return nil, err
	}
	if f, ok := any(q).(interface{ Want(Fresh) }); ok {
		f.Want(x.Fresh)
	}
	return o.Do(x.R.Context(), x.Door, x.C, q)
}

// maxPast bounds the revisions of a memory that one answer reads.
const maxPast = 10_000

// AllRevisions reads the revisions of a memory, the oldest first. Its errors call them by the client's word.
func (x *Exchange) AllRevisions(rid, called string) (all []Revision, err error) {
	for {
		a, err := Revisions.For(x, map[string]any{"rid": rid, "offset": len(all)})
		if err != nil {
			return nil, err
		}
		if all = append(all, a.Revisions...); a.Next == nil {
			return all, nil
		}
		if len(all) > maxPast {
			return nil, oplog.Errorf(oplog.TooLarge, "the memory has more than %d %s: GET /v1/memory/%s/revisions pages through them",
				maxPast, called, rid)
		}
	}
}

// Rights returns the operation of each path of an API. A caller needs its scope before the body is read.
func Rights[R any](routes map[string]R, right func(R) *Op) map[string]*Op {
	all := map[string]*Op{}
	for pattern, r := range routes {
		all[pattern] = right(r)
	}
	return all
}
