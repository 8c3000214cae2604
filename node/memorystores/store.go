package memorystores

import (
	"encoding/json"
	"maps"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// namespace is the namespace with the records of stores.
const namespace = "memory_stores"

const storePrefix = "memstore_"

// Bounds of a store's fields; lengths are in characters.
const (
	maxName        = 255
	maxDescription = 1024
	maxPairs       = 16
	maxPairName    = 64
	maxPairValue   = 512
)

// A store is the metadata of its record.
type store struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	Archived    string            `json:"archived_at,omitempty"`

	id     string
	record *api.Memory
}

func (s *store) show() object {
	o := object{"id": s.id, "type": "memory_store", "name": s.Name, "description": s.Description, "metadata": s.Metadata,
		"created_at": s.record.CreatedAt, "updated_at": s.record.UpdatedAt, "archived_at": nil}
	if s.Archived != "" {
		o["archived_at"] = s.Archived
	}
	return o
}

func readStore(m *api.Memory) (*store, error) {
	s := &store{id: strings.TrimPrefix(m.Path, "/"), record: m}
	if err := json.Unmarshal(m.Metadata, s); err != nil || s.Name == "" {
		return nil, oplog.Errorf(oplog.Conflict,
			"the memory %s in the namespace %s is not a store: another dialect changed it", m.Path, namespace)
	}
	if s.Metadata == nil {
		s.Metadata = map[string]string{}
	}
	return s, nil
}

func isStoreID(id string) bool {
	return strings.HasPrefix(id, storePrefix) && !strings.Contains(id, "/")
}

// store returns the store in the path.
func (x *exchange) store() (*store, error) {
	id := x.R.PathValue("store")
	absent := oplog.Errorf(oplog.NotFound, "no memory store %.80q", id)
	if !isStoreID(id) {
		return nil, absent
	}
	m, err := api.GetKey.For(&x.Exchange, object{"namespace": namespace, "key": "/" + id})
	if oplog.IsKind(err, oplog.NotFound) {
		return nil, absent
	}
	if err != nil {
		return nil, err
	}
	return readStore(&m.Memory)
}

// unchangedStep returns a step that makes a batch fail if the store has changed since it was read.
func (s *store) unchangedStep() object {
	return object{"op": "get", "namespace": namespace, "key": "/" + s.id, "if_revision": s.record.Revision}
}

func (s *store) check() error {
	if n := utf8.RuneCountInString(s.Name); n < 1 || n > maxName || strings.TrimSpace(s.Name) == "" ||
		strings.ContainsFunc(s.Name, unicode.IsControl) {
		return oplog.Errorf(oplog.Invalid, "name: want 1 to %d characters, none of them a control character", maxName)
	}
	if utf8.RuneCountInString(s.Description) > maxDescription {
		return oplog.Errorf(oplog.Invalid, "description: want at most %d characters", maxDescription)
	}
	if len(s.Metadata) > maxPairs {
		return oplog.Errorf(oplog.Invalid, "metadata: want at most %d pairs", maxPairs)
	}
	for name, v := range s.Metadata {
		if n := utf8.RuneCountInString(name); n < 1 || n > maxPairName || utf8.RuneCountInString(v) > maxPairValue {
			return oplog.Errorf(oplog.Invalid, "metadata: want keys of 1 to %d and values of at most %d characters",
				maxPairName, maxPairValue)
		}
	}
	return nil
}

// step returns the write of the store's record.
func (s *store) step(condition object) object {
	memory := object{"text": strings.TrimSpace(s.Name + "\n" + s.Description), "metadata": s, "searchable": false, "pin": true}
	o := object{"op": "put", "namespace": namespace, "key": "/" + s.id, "memory": memory}
	maps.Copy(o, condition)
	return o
}

// A storeRequest holds the fields of a store that clients send. Null and absent fields change nothing.
type storeRequest struct {
	Name        *string            `json:"name"`
	Description *string            `json:"description"`
	Metadata    map[string]*string `json:"metadata"` // null removes a key
}

func (q *storeRequest) apply(s *store) error {
	if q.Name != nil {
		s.Name = *q.Name
	}
	if q.Description != nil {
		s.Description = *q.Description
	}
	for name, v := range q.Metadata {
		if v == nil {
			delete(s.Metadata, name)
		} else {
			s.Metadata[name] = *v
		}
	}
	return s.check()
}

func (x *exchange) createStore() (any, error) {
	var q storeRequest
	if err := x.Decode(&q); err != nil {
		return nil, err
	}
	s := &store{id: storePrefix + oplog.NewID(), Metadata: map[string]string{}}
	if err := q.apply(s); err != nil {
		return nil, err
	}
	if _, err := api.Batch.For(&x.Exchange, object{"steps": []object{s.step(object{"if_absent": true})}}); err != nil {
		return nil, err
	}
	return x.readStoreBack(s.id)
}

// readStoreBack reads a store after a write.
func (x *exchange) readStoreBack(id string) (any, error) {
	x.R.SetPathValue("store", id)
	s, err := x.store()
	if err != nil {
		return nil, err
	}
	return s.show(), nil
}

func (x *exchange) getStore() (any, error) { return x.readStoreBack(x.R.PathValue("store")) }

func (x *exchange) updateStore() (any, error) {
	var q storeRequest
	if err := x.Decode(&q); err != nil {
		return nil, err
	}
	return x.changeStore(func(s *store) error {
		if s.Archived != "" {
			return errArchived
		}
		return q.apply(s)
	})
}

var errArchived = oplog.Errorf(oplog.Invalid, "the memory store is archived: it can be read and deleted, and not changed")

func (x *exchange) archiveStore() (any, error) {
	if err := x.Decode(&struct{}{}); err != nil {
		return nil, err
	}
	return x.changeStore(func(s *store) error {
		if s.Archived == "" {
			s.Archived = time.Now().UTC().Format(time.RFC3339Nano)
		}
		return nil
	})
}

// changeStore applies change to a store and writes it.
func (x *exchange) changeStore(change func(*store) error) (any, error) {
	err := x.retryOnConflict(func() error {
		s, err := x.store()
		if err == nil {
			err = change(s)
		}
		if err == nil {
			_, err = api.Batch.For(&x.Exchange, object{"steps": []object{s.step(object{"if_revision": s.record.Revision})}})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return x.readStoreBack(x.R.PathValue("store"))
}

// changeTries bounds the attempts of a change while other clients write.
const changeTries = 16

// retryOnConflict runs an attempt, which reads and then writes conditionally, again if another client wrote in
// between.
func (x *exchange) retryOnConflict(attempt func() error) (err error) {
	for range changeTries {
		if err = attempt(); !api.RefusedAs(err, "precondition_failed") {
			break
		}
	}
	return err
}

// deleteStore forgets a store's memories, the store, and then memories that were written meanwhile. An interrupted
// call can be repeated: if the store is gone, it forgets the memories that are left.
func (x *exchange) deleteStore() (any, error) {
	id := x.R.PathValue("store")
	_, absent := x.store()
	if absent != nil && (!isStoreID(id) || !oplog.IsKind(absent, oplog.NotFound)) {
		return nil, absent
	}
	n, err := x.emptyStore(id)
	if err == nil && absent == nil {
		_, err = api.Delete.For(&x.Exchange, object{"namespace": namespace, "key": "/" + id, "reason": "deleted"})
		if err == nil {
			_, err = x.emptyStore(id)
		}
	}
	if err == nil && n == 0 {
		err = absent
	}
	if err != nil {
		return nil, err
	}
	return object{"id": id, "type": "memory_store_deleted"}, nil
}

// emptyStore forgets all memories of a store, up to a thousand per request, and returns how many.
func (x *exchange) emptyStore(id string) (n int, err error) {
	const reason = "its memory store was deleted"
	all, _ := json.Marshal(object{"@namespace": id}) // a map of strings always encodes
	for more := true; more; {
		a, err := api.ForgetMatching.For(&x.Exchange, object{"filter": field.Map(all), "namespace": id, "reason": reason})
		if err != nil {
			return n, err
		}
		n, more = n+a.Forgotten, a.More
	}
	for { // the filter skips memories that recall does not find, such as those with a blank content
		a, err := api.ListKeys.For(&x.Exchange, object{"namespace": id, "limit": api.MaxList})
		if err != nil || len(a.Keys) == 0 {
			return n, err
		}
		steps := make([]object, len(a.Keys))
		for i, row := range a.Keys {
			steps[i] = object{"op": "delete", "namespace": id, "key": row.Path, "reason": reason}
		}
		if _, err := api.Batch.For(&x.Exchange, object{"steps": steps}); err != nil {
			return n, err
		}
		n += len(steps)
	}
}

func (x *exchange) listStores() (any, error) {
	limit, after, err := x.page(false)
	if err != nil {
		return nil, err
	}
	within, err := x.createdRange()
	if err != nil {
		return nil, err
	}
	archived := x.Params.Get("include_archived") == "true"
	var rows []object
	for looked := 0; ; {
		a, err := api.ListKeys.For(&x.Exchange, object{"namespace": namespace, "after": after, "limit": maxPageSize, "full": true})
		if err != nil {
			return nil, err
		}
		for i, row := range a.Keys {
			s, err := readStore(row.Memory)
			if err != nil || s.Archived != "" && !archived || !within(row.Created) {
				continue
			}
			if rows = append(rows, s.show()); len(rows) == limit {
				if i == len(a.Keys)-1 && a.Next == nil {
					return pageOf(rows, ""), nil
				}
				return pageOf(rows, row.Path), nil
			}
		}
		if looked += len(a.Keys); a.Next == nil {
			return pageOf(rows, ""), nil
		}
		if after = *a.Next; looked >= maxScanned {
			return pageOf(rows, after), nil
		}
	}
}
