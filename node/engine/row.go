package engine

import (
	"encoding/json"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// The functions below make the rows of answers from the state's rows, and add fields that the state stores elsewhere.
var (
	showMemory = api.Carry[oplog.Memory, api.Memory]()
	showResult = api.Carry[oplog.Memory, api.Result]()
	showMore   = api.Carry[oplog.Memory, api.Explained]()
	showRecord = api.Carry[oplog.Memory, api.Record]()
	revisionOf = api.Made[oplog.Revision, api.Revision]()
)

func memoryOf(m *oplog.Memory) (row api.Memory) {
	showMemory(m, &row)
	row.Sources = []string{}
	if m.Merged > 0 {
		row.Sources = mergedFrom(m)
	}
	return row
}

func recordOf(m *oplog.Memory) (row api.Record) {
	showRecord(m, &row)
	return row
}

// mergedFrom returns the memories that a memory was merged from, as its metadata says.
func mergedFrom(m *oplog.Memory) []string {
	var made struct {
		From []string `json:"consolidated_from"`
	}
	_ = json.Unmarshal(m.Metadata, &made) // metadata that was corrected since may say nothing
	return api.OrEmpty(made.From)
}

func iso(t oplog.Time) string { return t.Time().UTC().Format(time.RFC3339Nano) }
