package state

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/cairndb/cairn/oplog"
	"pgregory.net/rapid"
)

// otherOp draws the remaining operations of a database: quarantine, keys of memories, imports with their past, events
// of tools, capabilities, embedders and their vectors, operations of peers, and permanent purges.
func otherOp(t *rapid.T, id func(string) string, at oplog.Time) oplog.Op {
	few := func(label string, n int) int { return rapid.IntRange(0, n).Draw(t, label) }
	memory := func(rid string) oplog.Remember {
		return oplog.Remember{Content: oplog.Content{RID: rid, Text: id("text"), Namespace: id("ns"), Created: at},
			Entities: []oplog.Mention{{Name: id("e")}}}
	}
	sum := sha256.Sum256([]byte(id("content")))
	embedder := oplog.Embedder{Name: rapid.SampledFrom([]string{"one", "two"}).Draw(t, "embedder"), Version: "1", Dim: 2}
	switch few("other", 14) {
	case 0:
		m := memory(id("m"))
		m.Held, m.Stamp = true, oplog.Stamp{Trust: oplog.TrustWeb}
		return &m
	case 1:
		return &oplog.Correct{RID: id("m"), Text: new(id("new")),
			Approval: oplog.Approval{Release: true, Stamp: oplog.Stamp{Trust: oplog.TrustAgent}}, At: at}
	case 2:
		m := memory(id("m"))
		m.Key, m.Digest = id("own"), sum[:few("digest", 1)*4]
		return &m
	case 3:
		m := memory(id("m"))
		m.Was = &oplog.History{Past: oplog.Past{Revision: uint32(few("revision", 2)), By: rapid.SampledFrom([]string{"", id("m")}).Draw(t, "by"),
			Status: rapid.SampledFrom([]oplog.Status{oplog.Active, oplog.Active, oplog.Consolidated, oplog.Quarantined}).Draw(t, "status")},
			Claims: []oplog.StoredClaim{{Claim: oplog.Claim{ID: id("claim"), Src: id("e"), Type: "leads", Dst: id("e"),
				Polarity: 1, Extractor: "x"}}}}
		return &m
	case 4:
		return &oplog.Expect{RID: id("m"), Revision: uint32(few("revision", 1))}
	case 5, 6:
		return &oplog.Event{Workspace: id("ns"), Session: id("s"), Tool: "Bash", Hash: sum[:], Payload: []byte(`{}`), At: at,
			Status: oplog.EventStatus(few("status", 1)), Summary: rapid.SampledFrom([]string{"", id("m")}).Draw(t, "summary")}
	case 7:
		return &oplog.EventMark{ID: oplog.EventID(few("event", 9)), Status: oplog.EventStatus(few("status", 2)),
			Summary: rapid.SampledFrom([]string{"", id("m")}).Draw(t, "summary")}
	case 8:
		return rapid.SampledFrom([]oplog.Op{
			&oplog.Identity{Key: id("key"), Display: id("display"), Operator: few("operator", 3) == 0, At: at},
			&oplog.Grant{Signature: id("signature"), Subject: id("key"), Action: "use", Scope: []byte("{}"),
				GrantedBy: id("key"), First: few("first", 1) == 0, At: at},
			&oplog.Revoke{Signature: id("signature"), Subject: id("key"), At: at},
			&oplog.PurgeGrants{Before: at - oplog.Time(few("age", 20)), At: at},
			&oplog.Receipt{ID: id("receipt"), Payer: id("key"), Resource: "memory", Memory: id("m"), Credits: 1, At: at},
		}).Draw(t, "covenant")
	case 9:
		return &oplog.SetEmbedder{Embedder: embedder}
	case 10:
		return &oplog.Rebind{Embedder: rapid.SampledFrom([]oplog.Embedder{embedder, embedder, oplog.NoEmbedder}).Draw(t, "to")}
	case 11, 12:
		from := oplog.Seq(few("from", 6))
		e := &oplog.Embed{Embedder: embedder, From: from, Next: from + oplog.Seq(few("next", 8))}
		for range few("vectors", 3) {
			e.Vectors = append(e.Vectors,
				oplog.Embedded{Seq: oplog.Seq(few("seq", 20)), Revision: uint32(few("revision", 1)), Vector: make(oplog.Vector, 8)})
		}
		return e
	case 13:
		f := &oplog.Foreign{OpID: id("op"), Type: "x"}
		switch m := memory(id("m")); few("effect", 2) {
		case 0:
			f.Stored = &m
		case 1:
			f.Forgot = &oplog.Forget{RID: id("m"), At: at}
		default:
			f.Related = &oplog.Relate{ID: id("edge"), Src: id("e"), Dst: id("e"), Type: "knows", Weight: 1, At: at}
		}
		return f
	}
	salt, made := []byte("sixteen or more bytes"), rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "made")+id("m")
	return rapid.SampledFrom([]oplog.Op{
		&oplog.Purge{RIDs: []string{id("m"), made}, Salt: salt, At: at},
		&oplog.Purge{RIDs: []string{made}, Past: []uint32{0}, Salt: salt, At: at},
		&oplog.Purge{Claims: []string{id("claim")}, Salt: salt, At: at},
		&oplog.Purge{Name: oplog.NameHash(salt, id("e")), Salt: salt, At: at},
	}).Draw(t, "for good")
}

// controlOp draws an operation of the control plane.
func controlOp(t *rapid.T, at oplog.Time) oplog.Op {
	few := func(label string, n int) int { return rapid.IntRange(0, n).Draw(t, label) }
	db := oplog.DB(few("of database", 3))
	hash := func() string {
		sum := sha256.Sum256([]byte{byte(few("token", 3))})
		return hex.EncodeToString(sum[:])
	}
	token := oplog.CreateToken{Hash: hash(), DB: db, Label: "x", Expires: expires(t), At: at}
	return rapid.SampledFrom([]oplog.Op{
		&oplog.CreateDB{Name: "other", At: at}, &oplog.CreateDB{Name: "third", By: db, Most: uint32(few("most", 2)), At: at},
		&oplog.DropDB{Name: "other", At: at}, &oplog.Erase{At: at}, &oplog.Erase{At: at},
		&token, &oplog.CreateBound{Token: token, Spaces: oplog.Spaces{"ns1", "ns2"}},
		&oplog.Consent{Token: token, By: hash(), Most: uint32(few("most", 2))},
		&oplog.Renew{Hash: hash(), Turn: uint64(few("turn", 1)), Expires: expires(t), At: at}, &oplog.RevokeToken{Hash: hash(), At: at},
		&oplog.SetQuota{DB: db, MaxMemories: uint64(few("quota", 9))},
		&oplog.SetLimit{Token: hash(), DB: db, Limit: oplog.Limit{PerSecond: uint32(few("rate", 2))}},
		&oplog.Advertise{Node: uint32(few("node", 3)), Wire: "w", HTTP: "h", Peer: "p", Version: "v"},
	}).Draw(t, "control operation")
}
