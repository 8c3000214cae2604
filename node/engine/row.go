package engine

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// memoryOf is a whole memory as answers have it.
func memoryOf(m *oplog.Memory) api.Memory {
	row := api.Memory{RID: m.RID, Type: m.Type, Kind: m.Type, Text: m.Text, Created: m.Created.Seconds(), CreatedAt: iso(m.Created), Updated: m.Updated.Seconds(), UpdatedAt: iso(m.Updated),
		Importance: m.Importance, HalfLife: m.HalfLife / 3600, Accessed: m.Accessed.Seconds(), Accesses: m.Accesses, Valence: m.Valence, Certainty: m.Certainty,
		Into: orNil(m.Into), Status: m.Status.String(), Sources: []string{}, Tier: cmp.Or(m.Tier, "hot"), MetadataText: string(metadata(m)), Metadata: metadata(m),
		Namespace: m.Namespace, Domain: m.Domain, Source: m.Source, Emotion: orNil(m.Emotion), Session: orNil(m.Session), Due: when(m.Due), TemporalKind: orNil(m.TemporalKind),
		Reason: orNil(m.Reason), Revision: m.Revision, Entities: orEmpty(m.Entities), Claims: orEmpty(m.Claims)}
	if m.Merged > 0 {
		row.Sources = mergedFrom(m)
	}
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
