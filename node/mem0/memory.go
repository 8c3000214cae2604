package mem0

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
)

// entityTypes are the kinds of entities. The attribute TYPE_id holds an entity's id.
var entityTypes = []string{"user", "agent", "app", "run"}

func isID(name string) bool {
	return slices.ContainsFunc(entityTypes, func(kind string) bool { return name == kind+"_id" })
}

// An id is the name of an entity. Some clients send numbers.
type id string

// UnmarshalJSON implements json.Unmarshaler.
func (i *id) UnmarshalJSON(raw []byte) error {
	var n json.Number
	if json.Unmarshal(raw, (*string)(i)) == nil {
		return nil
	}
	err := json.Unmarshal(raw, &n)
	*i = id(n)
	return err
}

// ids are the entities that a call names.
type ids struct {
	User    id `json:"user_id"`
	Agent   id `json:"agent_id"`
	App     id `json:"app_id"`
	Run     id `json:"run_id"`
	Session id `json:"session_id"` // another name of run_id
}

// named returns the entities that are set, by attribute.
func (i *ids) named() map[string]id {
	all := map[string]id{"user_id": i.User, "agent_id": i.Agent, "app_id": i.App, "run_id": i.Run}
	if i.Session != "" {
		all["run_id"] = i.Session
	}
	maps.DeleteFunc(all, func(_ string, v id) bool { return v == "" })
	return all
}

// reservedKey is the key of metadata under which this dialect stores its own data.
const reservedKey = "@mem0"

// extras is the value under reservedKey.
type extras struct {
	Immutable bool     `json:"immutable"`
	Null      []string `json:"null,omitempty"` // keys with the value null, because null in a correction deletes a key
}

type fields = map[string]json.RawMessage

// splitMetadata divides metadata into attributes, which include the entities, and the rest: values that cannot be
// attributes, or that exceed the limits of attributes.
func splitMetadata(metadata fields, entities fields, immutable bool) (attributes, rest fields, err error) {
	if _, taken := metadata[reservedKey]; taken {
		return nil, nil, oplog.Errorf(oplog.Invalid, "metadata: the key %s is reserved", reservedKey)
	}
	attributes, rest = maps.Clone(entities), fields{}
	own, size := extras{Immutable: immutable}, 2
	for name, v := range entities {
		size += len(name) + len(v) + 4
	}
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		if string(metadata[name]) == "null" {
			own.Null = append(own.Null, name)
			continue
		}
		one, _ := json.Marshal(fields{name: metadata[name]}) // it was decoded
		form, err := filter.Canonical(one)
		if err != nil || form == nil || isID(name) || len(attributes) == filter.MaxAttributes || size+len(form) > filter.MaxSize {
			rest[name] = metadata[name]
			continue
		}
		size += len(form)
		attributes[name] = metadata[name]
	}
	if own.Immutable || own.Null != nil {
		rest[reservedKey], _ = json.Marshal(own) // a struct of strings always encodes
	}
	return attributes, rest, nil
}

// A storedMemory is a memory of the table, with attributes and metadata as clients see them.
type storedMemory struct {
	*api.Memory
	entities, metadata, rest fields
	kept                     extras
}

// parseMemory splits a stored memory's attributes and metadata into entities and metadata of mem0.
func parseMemory(m *api.Memory) storedMemory {
	s := storedMemory{Memory: m, entities: fields{}, metadata: fields{}}
	_ = json.Unmarshal(m.Metadata, &s.rest) // valid, because they were checked before they were stored
	_ = json.Unmarshal(s.rest[reservedKey], &s.kept)
	maps.Copy(s.metadata, s.rest)
	delete(s.metadata, reservedKey)
	for _, name := range s.kept.Null {
		s.metadata[name] = json.RawMessage("null")
	}
	attributes := fields{}
	_ = json.Unmarshal(m.Attributes, &attributes)
	for name, v := range attributes {
		if isID(name) {
			s.entities[name] = v
		} else {
			s.metadata[name] = v
		}
	}
	return s
}

// show returns a memory in mem0's format.
func show(m *api.Memory) object {
	s := parseMemory(m)
	sum := md5.Sum([]byte(m.Text)) // clients compare texts by it; it is not for security
	o := object{"id": m.RID, "memory": m.Text, "metadata": s.metadata, "categories": []string{}, "hash": hex.EncodeToString(sum[:]),
		"created_at": m.CreatedAt, "updated_at": m.UpdatedAt, "expiration_date": nil, "immutable": s.kept.Immutable}
	for _, kind := range entityTypes {
		o[kind+"_id"] = s.entities[kind+"_id"]
	}
	o["session_id"] = o["run_id"]
	var categories []string
	if json.Unmarshal(s.metadata["categories"], &categories) == nil {
		o["categories"] = categories
	}
	if m.Expires != nil {
		o["expiration_date"] = lastDay(*m.Expires)
	}
	if m.Into != nil {
		o["replaced_by"] = *m.Into
	}
	return o
}

// selectFields keeps the named fields of an object, and its id. Without names it keeps all.
func selectFields(o object, names []string) object {
	if len(names) > 0 {
		maps.DeleteFunc(o, func(name string, _ any) bool { return name != "id" && !slices.Contains(names, name) })
	}
	return o
}

// lastMoment is the last second that RFC 3339 can write. The day after it has no date there.
var lastMoment = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// endOfDay returns the end of a day in UTC. It rejects a day that is over.
func endOfDay(date string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return day, oplog.Errorf(oplog.Invalid, "expiration_date: want YYYY-MM-DD, got %.40q", date)
	}
	end := day.AddDate(0, 0, 1)
	if end.After(lastMoment) {
		end = lastMoment
	}
	if !end.After(time.Now()) {
		return end, oplog.Errorf(oplog.Invalid, "expiration_date: %s is over", date)
	}
	return end, nil
}

// lastDay returns the last day on which a memory with this expiry exists.
func lastDay(at float64) string {
	return time.Unix(int64(math.Ceil(at))-1, 0).UTC().Format(time.DateOnly)
}

// memory returns a memory of this namespace, deleted or not. reinforce counts the read as a use of the memory.
func (x *exchange) memory(rid string, reinforce bool) (*api.Memory, error) {
	c := x.C
	c.Quiet = c.Quiet || !reinforce
	m, err := api.Get.Do(x.R.Context(), x.Door, c, &api.GetRequest{RID: rid, Fresh: x.Fresh})
	if err == nil && m.Namespace != oplog.Mem0Namespace {
		err = oplog.ErrNoMemory
	}
	return m, err
}

// activeMemory returns a memory that is not deleted.
func (x *exchange) activeMemory(rid string, reinforce bool) (*api.Memory, error) {
	m, err := x.memory(rid, reinforce)
	if err == nil && m.Status == oplog.Tombstoned.String() {
		err = oplog.ErrNoMemory
	}
	return m, err
}
