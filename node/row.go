package node

import (
	"cmp"

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
