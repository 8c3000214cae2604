package reads

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// stored returns a state with operations applied to its default database.
func stored(t *testing.T, ops ...oplog.Op) *state.State {
	t.Helper()
	s, err := state.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for i, e := range []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}}, {Node: 1, DB: oplog.DefaultDB, Ops: ops}} {
		body, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		at := uint64(i + 1)
		out, err := s.Apply([]oplog.Record{{Index: oplog.Index(at), Term: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(at, 0, 1), body)}})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	return s
}

// read returns the answer of an operation.
func read[Q, A any](t *testing.T, s *state.State, db oplog.DB, of api.Of[Q, A], q Q) *A {
	t.Helper()
	a, err := All[of.Op](t.Context(), s, db, &q)
	if err != nil {
		t.Fatal(err)
	}
	return a.(*A)
}

// TestGrants checks that a capability authorizes nothing if it has expired, was revoked or is of another granter, and
// that it is valid in its last millisecond.
func TestGrants(t *testing.T) {
	t.Parallel()
	grant := func(signature string, change func(*oplog.Grant)) *oplog.Grant {
		g := &oplog.Grant{Signature: signature, Subject: "ada", Action: "read", Scope: []byte("{}"), GrantedBy: "op", At: 1}
		change(g)
		return g
	}
	s := stored(t, &oplog.Identity{Key: "op", Display: "user@local", Operator: true, At: 1},
		grant("first", func(g *oplog.Grant) { g.First = true }),
		grant("until 10", func(g *oplog.Grant) { g.Limited, g.Expires = true, 10 }),
		grant("another's", func(g *oplog.Grant) { g.GrantedBy = "bob" }),
		grant("to write", func(g *oplog.Grant) { g.Action = "write" }),
		grant("revoked", func(g *oplog.Grant) { g.First = true }),
		&oplog.Revoke{Signature: "revoked", Subject: "ada", At: 2})
	check := api.GrantsRequest{Subject: "ada", Actions: []string{"read"}, By: "op", Limit: 10}
	at := func(ms uint64) api.GrantsRequest { q := check; q.At = ms; return q }
	for _, c := range []struct {
		name string
		q    api.GrantsRequest
		want string
	}{
		{"in the last millisecond", at(10), "[first until 10]"},
		{"a millisecond later", at(11), "[first]"},
		{"one at most", api.GrantsRequest{Subject: "ada", Actions: []string{"read"}, Limit: 1}, "[first]"},
		{"another subject", api.GrantsRequest{Subject: "bob", Limit: 10}, "[]"},
		{"all, the newest first", api.GrantsRequest{Limit: 10}, "[to write another's until 10 first]"},
		{"those that the operator began with", api.GrantsRequest{First: true, Limit: 10}, "[revoked first]"},
		{"none", api.GrantsRequest{}, "[]"},
	} {
		a := read(t, s, oplog.DefaultDB, api.Grants, c.q)
		got := []string{}
		for _, g := range a.Grants {
			got = append(got, g.Signature)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
		if len(got) > 0 && a.Names["op"] != "user@local" {
			t.Errorf("%s: the operator's name is %q", c.name, a.Names["op"])
		}
	}
}

// TestNeighboursPassOverABound checks that a walk to the nearest memories skips a bounded number of forgotten ones,
// in the namespace itself and in others.
func TestNeighboursPassOverABound(t *testing.T) {
	t.Parallel()
	var ops []oplog.Op
	store := func(rid, namespace string, forget bool) {
		ops = append(ops, &oplog.Remember{Content: oplog.Content{RID: rid, Text: "x", Namespace: namespace, Created: 1}})
		if forget {
			ops = append(ops, &oplog.Forget{RID: rid, At: 2})
		}
	}
	store("far", "own", false)
	for i := range maxPassed {
		store(fmt.Sprint("gone", i), "own", true)
	}
	store("far of another", "other", false)
	store("near", "own", false)
	for i := range 10 {
		store(fmt.Sprint("gone since", i), "own", true)
	}
	s := stored(t, ops...)
	for _, alone := range []bool{true, false} {
		a := read(t, s, oplog.DefaultDB, api.Neighbours, api.NeighboursRequest{Visibility: api.Visibility{Namespace: "own", Private: "private/", Alone: alone}, Before: 3})
		got := []string{}
		for _, k := range a.Before {
			got = append(got, k.Memory.RID)
		}
		want := "[near]"
		if !alone {
			want = "[near far of another]"
		}
		if fmt.Sprint(got) != want {
			t.Errorf("alone %v: %v, want %s", alone, got, want)
		}
	}
}
