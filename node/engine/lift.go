package engine

import (
	"encoding/json"

	"github.com/cairndb/cairn/oplog/filter"
)

// lifted adds to attributes the members of the metadata that a database wants to filter by. An attribute that the client
// gave stays, and a member that no attribute can be is left out.
func lifted(attributes, metadata []byte, names []string) []byte {
	if len(names) == 0 || len(metadata) == 0 {
		return attributes
	}
	from, all := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if json.Unmarshal(metadata, &from) != nil || len(attributes) > 0 && json.Unmarshal(attributes, &all) != nil {
		return attributes // metadata may be any JSON
	}
	for _, name := range names {
		value, there := from[name]
		if _, given := all[name]; given || !there {
			continue
		}
		all[name] = value
		b, err := json.Marshal(all)
		if err == nil {
			b, err = filter.Canonical(b)
		}
		if err != nil {
			delete(all, name)
		} else {
			attributes = b
		}
	}
	return attributes
}
