package access

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire"
)

const secret = "a cluster secret of more than 32 characters"

func newState(t testing.TB) *state.State {
	t.Helper()
	st, err := state.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	apply(t, st, &oplog.Init{Cluster: oplog.NewID(), At: oplog.At(time.Now())})
	return st
}

// apply applies operations to a state as one entry of the log.
func apply(t testing.TB, st *state.State, ops ...oplog.Op) []oplog.Outcome {
	t.Helper()
	body, err := oplog.Entry{Node: 1, Ops: ops}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	at, _ := st.Applied()
	out, err := st.Apply([]oplog.Record{{Index: at + 1, Term: 1,
		Data: oplog.EncodeRecord(oplog.MakeHLC(uint64(time.Now().UnixMilli())+uint64(at), 0, 1), body)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	return out
}

// token creates a client token in a state.
func token(t testing.TB, st *state.State, expires time.Time, scopes ...string) (text string) {
	t.Helper()
	text = NewToken()
	op := &oplog.CreateToken{Hash: HashToken(text), DB: oplog.DefaultDB, Label: "test", Scopes: scopes, At: oplog.At(time.Now())}
	if !expires.IsZero() {
		op.Expires = oplog.At(expires)
	}
	apply(t, st, op)
	return text
}

func TestTokensBecomeCallers(t *testing.T) {
	t.Parallel()
	st := newState(t)
	apply(t, st, &oplog.CreateDB{Name: "other", At: 1})
	reader, usual, admin := token(t, st, time.Time{}, "read"), token(t, st, time.Time{}), token(t, st, time.Time{}, "admin")
	ended, expired := token(t, st, time.Time{}), token(t, st, time.Now().Add(-time.Hour))
	apply(t, st, &oplog.RevokeToken{Hash: HashToken(ended), At: oplog.At(time.Now())})
	a := New(Config{State: st, Secrets: []string{"", secret, "the " + secret}})
	for _, c := range []struct {
		text   string
		scopes []api.Scope
		who    string
		other  bool // may go to another database
	}{
		{secret, All, api.ByMaster, true},
		{"the " + secret, All, api.ByMaster, true},
		{reader, []api.Scope{api.Read}, Prefix(HashToken(reader)), false},
		{usual, []api.Scope{api.Read, api.Write}, Prefix(HashToken(usual)), false},
		{admin, []api.Scope{api.Admin}, Prefix(HashToken(admin)), true},
	} {
		got, err := a.Authenticate(c.text)
		if err != nil || got.Who() != c.who || got.DB != oplog.DefaultDB || got.Database != "default" ||
			!reflect.DeepEqual(got.Scopes, c.scopes) {
			t.Errorf("%s: %+v %v", c.who, got, err)
		}
		there, err := a.Select(got, "other")
		if (err == nil) != c.other || c.other && there.Database != "other" ||
			!c.other && !errors.Is(err, &oplog.Error{Kind: oplog.NotFound, Text: "database 'other' not found"}) {
			t.Errorf("%s in another database: %+v %v", c.who, there, err)
		}
		if got.Token != "" && !a.Holds(got) {
			t.Errorf("%s was let in and may not stay", c.who)
		}
	}
	for name, text := range map[string]string{"revoked": ended, "expired": expired, "unknown": NewToken(), "no": "",
		"its hash as a": HashToken(usual)} {
		if got, err := a.Authenticate(text); !errors.Is(err, ErrToken) || got.Scopes != nil || a.Holds(api.Caller{Token: HashToken(text)}) {
			t.Errorf("%s token: %+v %v", name, got, err)
		}
	}
	if got, err := New(Config{State: st}).Authenticate(secret); err == nil {
		t.Errorf("the cluster secret where it is no token: %+v", got)
	}
	if got, err := a.Local("other"); err != nil || got.Who() != api.ByLocal || got.Database != "other" || !got.May(api.Owner) ||
		got.May(api.Admin) || !got.Forward {
		t.Errorf("this host's user: %+v %v", got, err)
	} else if _, err := a.Select(got, "default"); err == nil {
		t.Error("this host's user goes to another database")
	}
	if _, err := a.Local("none"); err == nil {
		t.Error("this host's user in a database that is not there")
	}
}

// TestLimitsFollowTheLog checks that a limit of a token or a database holds from the entry that sets it, and ends
// with the token.
func TestLimitsFollowTheLog(t *testing.T) {
	t.Parallel()
	st := newState(t)
	text := token(t, st, time.Time{})
	a := New(Config{State: st})
	c, err := a.Authenticate(text)
	if err != nil {
		t.Fatal(err)
	}
	var slow *Limited
	count := func(n int) error { _, err := a.Count(c, n); return err }
	if err := count(1_000_000); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	a.Follow(apply(t, st, &oplog.SetLimit{Token: c.Token, Limit: oplog.Limit{PerSecond: 2, Batch: 5}}), false)
	if err := count(3); !errors.Is(err, &oplog.Error{Kind: oplog.OverQuota}) {
		t.Errorf("more than the burst at once: %v", err)
	}
	if err := count(2); err != nil {
		t.Errorf("the burst: %v", err)
	}
	if err := count(1); !errors.As(err, &slow) || slow.Wait <= 0 || slow.Wait > time.Second || a.Ready(c) == nil {
		t.Errorf("behind the burst: %v", err)
	}
	if got, err := a.Count(api.Caller{Token: c.Token, DB: c.DB, Counted: 1}, 1); err != nil || got.Counted != 1 {
		t.Errorf("an operation that was counted before: %+v %v", got, err)
	}
	if err := a.CheckBatch(c, 6); err == nil || a.CheckBatch(c, 5) != nil || a.AtOnce(c, 100) != 2 {
		t.Errorf("six in a batch of five: %v, %d at once", err, a.AtOnce(c, 100))
	}
	a.Follow(apply(t, st, &oplog.SetLimit{DB: c.DB, Limit: oplog.Limit{PerSecond: 1}}), false)
	for i, want := range []bool{true, false} {
		if err := func() error { _, err := a.Count(api.Caller{By: api.ByLocal, DB: c.DB}, 1); return err }(); (err == nil) != want {
			t.Errorf("operation %d of this host's user in a database of one a second: %v", i+1, err)
		}
	}
	if _, err := a.Count(api.Caller{By: api.ByNode, DB: c.DB}, 1000); err != nil {
		t.Errorf("the node itself: %v", err)
	}
	a.Follow(apply(t, st, &oplog.RevokeToken{Hash: c.Token, At: oplog.At(time.Now())}), false)
	if got := a.limits.Load().Tokens; len(got) != 0 {
		t.Errorf("limits of a token that has ended: %v", got)
	}
	c.Usual, c.Token = 1, "other"
	if a.AtOnce(c, 100) != 1 {
		t.Errorf("the node's usual limit: %d at once", a.AtOnce(c, 100))
	}
}

// TestWrongTokensOfAnAddress checks that an address beyond its burst of wrong tokens must wait, and that the cluster
// secret is not even compared then, unless the address sent it within the hour. A valid client token and other
// addresses are always let in.
func TestWrongTokensOfAnAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newState(t)
		text := token(t, st, time.Time{})
		a := New(Config{State: st, Secrets: []string{secret}, FailedLogins: 3})
		login := func(from, token, want string) {
			t.Helper()
			_, err := a.Login(t.Context(), from+":4711", token)
			got := "in"
			var slow *Limited
			if errors.As(err, &slow) {
				got = "wait"
			} else if err != nil {
				got = "no"
			}
			if got != want {
				t.Errorf("from %s: %q (%v), want %q", from, got, err, want)
			}
		}
		login("192.0.2.7", secret, "in") // this address sent the secret
		for _, from := range []string{"192.0.2.1", "192.0.2.7"} {
			for range 3 {
				login(from, "wrong", "no")
			}
			login(from, "wrong", "wait")
			login(from, text, "in")
		}
		login("192.0.2.1", secret, "wait")
		login("192.0.2.7", secret, "in")
		login("192.0.2.2", secret, "in")
		login("192.0.2.2", "wrong", "no")
		time.Sleep(time.Second)
		login("192.0.2.1", secret, "in")
		time.Sleep(secretExemption)
		for range 4 {
			_, _ = a.Login(t.Context(), "192.0.2.7:1", "wrong")
		}
		login("192.0.2.7", secret, "wait")
		if got := a.FailedLogins(); got != 15 {
			t.Errorf("%d failed logins", got)
		}
	})
}

// noted is a log that records what it is told.
type noted struct {
	st *state.State
	t  *testing.T

	mu   sync.Mutex
	err  error // returned by Note if not nil
	uses [][]oplog.TokenUse
}

func (n *noted) refuse(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

func (n *noted) Note(_ context.Context, op oplog.Op) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return n.err
	}
	n.uses = append(n.uses, op.(*oplog.Uses).Uses)
	apply(n.t, n.st, op)
	return nil
}

// TestUsesAreTold checks that a use is reported once, with its newest time, and that a failed report is repeated.
func TestUsesAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newState(t)
		text := token(t, st, time.Time{})
		a := New(Config{State: st})
		log := &noted{st: st, t: t}
		log.refuse(errors.New("no leader"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.ReportUsage(ctx, time.Minute, log, slog.New(slog.DiscardHandler))
		use := func() oplog.Time {
			if _, err := a.Authenticate(text); err != nil {
				t.Fatal(err)
			}
			a.Used("")
			return oplog.At(time.Now())
		}
		first := use()
		time.Sleep(90 * time.Second) // one report failed
		last := use()
		log.refuse(nil)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		log.mu.Lock()
		defer log.mu.Unlock()
		if want := [][]oplog.TokenUse{{{Hash: HashToken(text), At: last}}}; first == last || !reflect.DeepEqual(log.uses, want) {
			t.Errorf("told %v, want %v", log.uses, want)
		}
		_ = st.Read(func(v *state.View) error {
			if got := a.LastUsed(v, HashToken(text)); got != last {
				t.Errorf("last used %v, want %v", got, last)
			}
			return nil
		})
	})
}

// TestTheLeaderWritesTheAudit checks that the leader writes the audit rows, and that a forwarding node may add only
// rows about members.
func TestTheLeaderWritesTheAudit(t *testing.T) {
	t.Parallel()
	st := newState(t)
	a := New(Config{State: st})
	hash := HashToken("made")
	long := make([]byte, 2*maxAsker)
	by := Asker{Asker: wire.Asker{By: string(long), Label: "ci\xff"}, Node: 2}
	member, forged := by.Audit(time.Now(), "join", "node 3", ""), by.Audit(time.Now(), "purge", "default", "")
	create := &oplog.CreateToken{Hash: hash, DB: oplog.DefaultDB, Label: "l", At: 1}
	asked, rows := a.Audited(by, 0, []oplog.Op{create, member, forged, &oplog.SetQuota{DB: oplog.DefaultDB, MaxMemories: 7}})
	if len(asked) != 3 || asked[0] != oplog.Op(create) || asked[1] != oplog.Op(member) || len(rows) != 2 {
		t.Fatalf("asked %v, rows %v", asked, rows)
	}
	for i, want := range [][3]string{{"create_token", Prefix(hash), `database default, label "l", scopes read, write`},
		{"set_quota", "default", "max_memories 7"}} {
		r := rows[i].(*oplog.Audit)
		if got := [3]string{r.What, r.On, r.How}; got != want || len(r.By) != maxAsker || r.Label != "ci" || r.Node != 2 {
			t.Errorf("row %d: %+v, want %v", i, r, want)
		}
	}
	if asked, rows := a.Audited(by, oplog.DefaultDB, []oplog.Op{&oplog.Forget{RID: "a"}}); len(asked) != 1 || len(rows) != 0 {
		t.Errorf("what the cluster remembers is in the audit: %v", rows)
	}
}

// TestWhatADatabaseRefusesCostsItsTokenNothing checks that an operation that the database's limit rejects is not
// counted against the token.
func TestWhatADatabaseRefusesCostsItsTokenNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newState(t)
		text := token(t, st, time.Time{})
		a := New(Config{State: st})
		c, err := a.Authenticate(text)
		if err != nil {
			t.Fatal(err)
		}
		a.Follow(apply(t, st, &oplog.SetLimit{Token: c.Token, Limit: oplog.Limit{PerSecond: 1, Burst: 9}}), false)
		a.Follow(apply(t, st, &oplog.SetLimit{DB: c.DB, Limit: oplog.Limit{PerSecond: 1}}), false)
		if _, err := a.Count(c, 1); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			if _, err := a.Count(c, 1); err == nil {
				t.Fatal("the database's limit is passed")
			}
		}
		a.Follow(apply(t, st, &oplog.SetLimit{DB: c.DB}), false)
		if _, err := a.Count(c, 8); err != nil {
			t.Errorf("eight of nine are left: %v", err)
		}
	})
}
