package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
)

// newTestAdmin returns an Admin with its own state, without an engine.
func newTestAdmin(t *testing.T) *Admin {
	t.Helper()
	st, err := statetest.Open(t.TempDir(), state.Options{}, statetest.NewLog())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	at := oplog.Index(0)
	write := func(_ context.Context, c api.Caller, ops ...oplog.Op) (oplog.Index, []oplog.Result, error) {
		body, err := (&oplog.Entry{Node: 1, DB: c.DB, Ops: ops}).Encode()
		if err != nil {
			return 0, nil, err
		}
		at++
		out, err := st.Apply([]oplog.Record{{Index: at, Data: oplog.EncodeRecord(oplog.MakeHLC(uint64(at), 0, 1), body)}})
		if err != nil {
			return at, nil, err
		}
		if out[0].Err != nil {
			return at, nil, out[0].Err
		}
		return at, out[0].Results, nil
	}
	if _, _, err := write(t.Context(), api.Caller{}, &oplog.Init{Cluster: "c"}); err != nil {
		t.Fatal(err)
	}
	return NewAdmin(AdminConfig{State: st.State, Access: access.New(access.Config{State: st.State}), NodeID: 1,
		MaxDatabases: 1, Write: write, CatchUp: func(context.Context) error { return nil }})
}

// TestAListShowsWhatATokenWrites checks that the list shows the effective trust class of tokens without one of their
// own, such as tokens of homes and of older versions.
func TestAListShowsWhatATokenWrites(t *testing.T) {
	t.Parallel()
	ad := newTestAdmin(t)
	admin := api.Caller{DB: oplog.DefaultDB, Database: "default", Scopes: access.All, By: api.ByMaster}
	for i, scopes := range [][]string{{"read", "write"}, {"owner"}, {"read", "write", "admin"}} {
		if _, _, err := ad.cfg.Write(t.Context(), admin,
			&oplog.CreateToken{Hash: strings.Repeat(fmt.Sprint(i), 64), DB: oplog.DefaultDB, Scopes: scopes,
				At: oplog.Time(i)}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err := ad.cfg.State.Read(func(v *state.View) error {
		list, err := ad.Tokens(v, admin, nil)
		got = api.Each(list.Tokens, func(t api.Token) string { return t.Trust })
		return err
	})
	if want := []string{oplog.TrustAgent, oplog.TrustOperator, oplog.TrustOperator}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the list shows %q, %v, want %q", got, err, want)
	}
}

// TestWhoAdministersATokenMayNameIt checks that an owner creates, finds and ends the tokens of its own database, by
// their text or a prefix of their hash. It does not see tokens that administer the cluster, and cannot give scopes
// that it lacks.
func TestWhoAdministersATokenMayNameIt(t *testing.T) {
	t.Parallel()
	ad := newTestAdmin(t)
	admin := api.Caller{DB: oplog.DefaultDB, Database: "default", Scopes: access.All, By: api.ByMaster,
		Policy: oplog.Policy{Trust: oplog.TrustOperator}}
	owner := admin
	owner.Scopes = access.Local
	token := func(c api.Caller, scopes ...string) *api.CreatedToken {
		t.Helper()
		made, err := ad.CreateToken(t.Context(), c, &api.CreateTokenRequest{Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	ours, theirs := token(owner, "read"), token(admin, "admin")
	if _, err := ad.CreateToken(t.Context(), owner, &api.CreateTokenRequest{Scopes: []string{"admin"}}); err == nil ||
		!strings.Contains(err.Error(), "no admin scope") {
		t.Errorf("an owner makes a token that administers the cluster: %v", err)
	}
	for _, x := range []struct {
		by    api.Caller
		name  string
		ended bool
	}{
		{owner, theirs.Token, false}, {owner, theirs.Hash, false}, {owner, ours.Hash[:minPrefix-1], false},
		{owner, ours.Hash[:minPrefix], true}, {owner, ours.Token, false}, {admin, theirs.Token, true},
	} {
		if got, err := ad.RevokeToken(t.Context(), x.by, &api.RevokeTokenRequest{Token: x.name}); err != nil || got.Revoked != x.ended {
			t.Errorf("%s ends %s: %+v, %v, want %t", x.by.Scopes, x.name, got, err, x.ended)
		}
	}
}

// TestASnapshotOfTheControlPlaneListsValidTokens checks that a snapshot has no revoked or expired tokens.
func TestASnapshotOfTheControlPlaneListsValidTokens(t *testing.T) {
	t.Parallel()
	ad := newTestAdmin(t)
	admin := api.Caller{DB: oplog.DefaultDB, Database: "default", Scopes: access.All, By: api.ByMaster}
	now := oplog.At(time.Now())
	for i, expires := range []oplog.Time{0, now - 1, now + oplog.Time(time.Hour.Microseconds())} {
		if _, _, err := ad.cfg.Write(t.Context(), admin,
			&oplog.CreateToken{Hash: strings.Repeat(fmt.Sprint(i), 64), DB: oplog.DefaultDB, At: oplog.Time(i + 1),
				Expires: expires}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := ad.cfg.Write(t.Context(), admin, &oplog.RevokeToken{Hash: strings.Repeat("0", 64), At: now}); err != nil {
		t.Fatal(err)
	}
	err := ad.cfg.State.Read(func(v *state.View) error {
		a, err := ad.ControlSnapshot(v, admin, nil)
		if got := api.Each(a.Tokens, func(t api.KeptToken) string { return t.Hash[:1] }); !slices.Equal(got, []string{"2"}) {
			t.Errorf("valid are said to be %q", got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAQuotaIsSetWholly checks that a change of both a quota and a rate limit is applied completely or not at all,
// also if the node loses the log after its first entry.
func TestAQuotaIsSetWholly(t *testing.T) {
	t.Parallel()
	ad := newTestAdmin(t)
	admin := api.Caller{DB: oplog.DefaultDB, Database: "default", Scopes: access.All, By: api.ByMaster}
	ad.cfg.Commit = commit.New(commit.Options{NodeID: 1, State: ad.cfg.State})
	entries, write := 0, ad.cfg.Write
	ad.cfg.Write = func(ctx context.Context, c api.Caller, ops ...oplog.Op) (oplog.Index, []oplog.Result, error) {
		if entries++; entries > 1 {
			return 0, nil, api.ErrNoLeader
		}
		return write(ctx, c, ops...)
	}
	_, err := ad.SetQuota(t.Context(), admin, &api.SetQuotaRequest{Name: "default", Memories: new(uint64(7)), PerSecond: new(uint32(9))})
	var d oplog.Database
	var l oplog.Limit
	if rerr := ad.cfg.State.Read(func(v *state.View) error {
		d, _ = v.Database(oplog.DefaultDB)
		l = v.Limits().Databases[oplog.DefaultDB]
		return nil
	}); rerr != nil {
		t.Fatal(rerr)
	}
	if done := d.MaxMemories == 7 && l.PerSecond == 9; done != (err == nil) || !done && d.MaxMemories != 0 {
		t.Errorf("answered %v; the database holds %d and asks %d a second", err, d.MaxMemories, l.PerSecond)
	}
}
