package engine

import (
	"encoding/json"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// The rows of answers, made of the state's. What the state keeps elsewhere, the functions below add.
var (
	showMemory = api.Carry[oplog.Memory, api.Memory]()
	showResult = api.Carry[oplog.Memory, api.Result]()
	showMore   = api.Carry[oplog.Memory, api.Explained]()
	showRecord = api.Carry[oplog.Memory, api.Record]()
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

// each converts the rows of a list. The result is never nil: answers have [] in place of null.
func each[T, R any](list []T, of func(T) R) []R {
	rows := make([]R, len(list))
	for i, x := range list {
		rows[i] = of(x)
	}
	return rows
}

// mergedFrom are the memories that one was made of, as its metadata says.
func mergedFrom(m *oplog.Memory) []string {
	var made struct {
		From []string `json:"consolidated_from"`
	}
	_ = json.Unmarshal(m.Metadata, &made) // metadata that was corrected since may say nothing
	return orEmpty(made.From)
}

func iso(t oplog.Time) string { return t.Time().UTC().Format(time.RFC3339Nano) }

func orEmpty(s []string) []string { return append([]string{}, s...) }

// when is a time as clients read it, null for none.
func when(t oplog.Time) *float64 {
	if t == 0 {
		return nil
	}
	return new(t.Seconds())
}

// orNil is a text as answers have it that have null for none.
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
