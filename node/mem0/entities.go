package mem0

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// maxEntities bounds the list of the self-hosted server, which has no pages.
const maxEntities = 10_000

// entities lists users, agents, apps and runs: the values of the attributes that name them.
func entities(as shape) func(*exchange) (any, error) {
	return func(x *exchange) (any, error) {
		p, err := x.page(pageSize, api.MaxHits)
		if err != nil {
			return nil, err
		}
		first, last := p.offset(), p.offset()+p.size
		if as == selfHosted {
			first, last = 0, maxEntities
		}
		all, totals, count, seen := []object{}, object{}, 0, 0
		for _, kind := range entityTypes {
			for after, more := "", true; more; {
				a, err := api.Values.For(&x.Exchange,
					object{"attribute": kind + "_id", "namespace": oplog.Mem0Namespace, "limit": api.MaxHits, "after": after})
				if err != nil {
					return nil, err
				}
				if after == "" {
					totals["total_"+kind+"s"], count = a.Total, count+a.Total
				}
				if as == selfHosted && count > maxEntities {
					return nil, oplog.Errorf(oplog.TooLarge,
						"there are more than %d entities: GET /v1/entities/?page=1&page_size=%d pages through them",
						maxEntities, api.MaxHits)
				}
				for _, v := range a.Values {
					if seen >= first && seen < last {
						all = append(all, entity(kind, &v, x.C.Database))
					}
					seen++
				}
				if more = a.Next != nil && seen < last; more {
					after = *a.Next
				}
			}
		}
		if as == selfHosted {
			return all, nil
		}
		o := x.pageOf(p, count, all)
		for name, n := range totals {
			o[name] = n
		}
		return o, nil
	}
}

func entity(kind string, v *api.AttributeValue, owner string) object {
	var name string
	if json.Unmarshal(v.Value, &name) != nil {
		name = string(v.Value)
	}
	return object{"id": name, "name": name, "type": kind, "created_at": iso(v.First), "updated_at": iso(v.Last),
		"total_memories": v.Count, "owner": owner, "metadata": object{}}
}

func iso(seconds float64) string { return field.UnixOrNone(seconds).UTC().Format(time.RFC3339Nano) }

// countDone returns a suffix for the error of a batch: the number of memories changed before the failure.
func countDone(n int) string {
	return fmt.Sprintf("; %s before it were changed", api.Many(n, "memory", "memories"))
}

// forgetMatching forgets all memories that pass a filter, up to a thousand per request.
func (x *exchange) forgetMatching(f field.Map) (n int, err error) {
	for more := true; more; {
		a, err := api.ForgetMatching.For(&x.Exchange, object{"filter": f, "namespace": oplog.Mem0Namespace, "reason": "deleted"})
		if err != nil {
			return n, err
		}
		n, more = n+a.Forgotten, a.More
	}
	return n, nil
}

func (x *exchange) removeAll() (any, error) {
	s := x.selected()
	f, err := s.filter()
	if err != nil {
		return nil, err
	}
	n, err := x.forgetMatching(f)
	if err != nil {
		return nil, err
	}
	return object{"message": "Memories deleted successfully!", "deleted": n}, nil
}

func (x *exchange) removeEntity() (any, error) {
	kind, name := x.R.PathValue("type"), x.R.PathValue("name")
	if !slices.Contains(entityTypes, kind) {
		return nil, oplog.Errorf(oplog.Invalid, "Invalid entity type %.40q: want user, agent, app or run", kind)
	}
	f, err := json.Marshal(object{kind + "_id": name})
	if err != nil {
		return nil, err
	}
	n, err := x.forgetMatching(f)
	if err == nil && n == 0 {
		err = oplog.Errorf(oplog.NotFound, "no %s %.64q has a memory", kind, name)
	}
	if err != nil {
		return nil, err
	}
	return object{"message": "Entity deleted successfully!"}, nil
}

func (x *exchange) reset() (any, error) {
	if _, err := x.forgetMatching(everything()); err != nil {
		return nil, err
	}
	return object{"message": "All memories reset"}, nil
}
