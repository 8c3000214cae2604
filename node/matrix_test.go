package node_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// frames holds the message with which the wire requests each operation. An operation that has an opcode and no line
// here fails the matrix.
var frames = map[wire.Op]wire.Message{
	wire.OpRemember:      new(wire.NewRemember("x")),
	wire.OpRememberBatch: &wire.RememberBatch{Memories: []wire.Remember{wire.NewRemember("x")}},
	wire.OpRecall:        new(wire.NewRecall("x")),
	wire.OpForget:        &wire.Forget{RID: "none"},
	wire.OpRelate:        &wire.Relate{Entity: "a", Target: "b", Relationship: "knows", Weight: 1},
	wire.OpEdges:         &wire.Entity{Entity: "a"},
	wire.OpClaim:         &wire.Claim{Src: "a", RelType: "knows", Dst: "b", Polarity: 1, Weight: 1},
	wire.OpClaims:        &wire.Claims{Entity: "a"},
	wire.OpAlias:         &wire.Alias{Alias: "a", CanonicalName: "b"},
	wire.OpSessionStart:  &wire.SessionStart{ClientID: "c"},
	wire.OpSessionEnd:    &wire.SessionEnd{SessionID: "none"},
	wire.OpThink:         &wire.Think{},
	wire.OpConflicts:     &wire.Conflicts{},
	wire.OpResolve:       &wire.Resolve{ConflictID: "none", Strategy: "dismiss"},
	wire.OpPersonality:   nil,
	wire.OpStats:         nil,
	wire.OpCreateDB:      &wire.Name{Name: "made"},
	wire.OpListDB:        nil,
	wire.OpClusterStatus: nil,
	wire.OpSubscribe:     &wire.Subscribe{},
}

// arguments returns the smallest valid request of the kind: a value for each required field.
func arguments(o field.Object) obj {
	given := obj{}
	for _, f := range o {
		if f.Must {
			given[f.Name] = rightType(cmp.Or(f.Kind.Type, "any"))
		}
	}
	return given
}

// lacking is a scope that a token may have without having the one that is asked for.
var lacking = map[api.Scope]string{api.Read: "write", api.Write: "read", api.Owner: "read", api.Admin: "owner"}

// TestMatrix asks every operation of the table, on each surface that offers it, without a token, without the right, too
// often, and with what it does not take: the door refuses all of them alike. TestEveryRouteRefuses has what HTTP alone
// can get wrong.
func TestMatrix(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Limits.FailedLogins = 10_000 })
	w := c.web(0)
	weak := map[string]*web{}
	for _, s := range []string{"read", "write", "owner"} {
		weak[s] = w.with(w.newToken(obj{"scopes": []string{s}}))
	}
	// slow asks with a token whose one operation a second is used up, and again where the machine took the second for
	// it.
	slow := func(refused func(one *web) bool) bool {
		for {
			token := w.newToken(obj{"scopes": []string{"read", "write", "admin"}})
			w.ok("POST", "/v1/admin/tokens/limit", obj{"token": token, "max_rps": 1, "burst": 1})
			one, began := w.with(token), time.Now()
			one.ok("POST", "/v1/recall", obj{"query": "anything"})
			if refused(one) {
				return true
			}
			if time.Since(began) < time.Second {
				return false
			}
		}
	}
	const often = "too many requests for this token"
	for _, op := range api.Ops {
		if op.HTTP != "" && op.Scope != "" {
			url := operation{path: op.Path()}.url()
			var status int
			var out obj
			if !slow(func(one *web) bool {
				status, out = one.send(op.Method(), url, arguments(op.InBody()))
				missing := status == http.StatusBadRequest && len(op.InQuery()) > 0 // a parameter: told before it is counted
				return missing || status == http.StatusTooManyRequests && out["code"] == "rate_limited"
			}) {
				t.Errorf("%s over HTTP, too often: %d %v", op.Name, status, out)
			}
		}
		if op.Reads {
			status, out := weak["write"].send(op.Method(), operation{path: op.Path()}.url(), arguments(op.InBody()))
			if status != http.StatusForbidden || out["error"] != "token has no read scope" {
				t.Errorf("%s over HTTP, without the right to read: %d %v", op.Name, status, out)
			}
		}
		if op.Tool != nil {
			args := arguments(op.Takes().ForTools())
			if status, _, _ := w.with("ydb_none").tool(op.Tool.Name, args); status != http.StatusUnauthorized {
				t.Errorf("%s as a tool, without a token: %d", op.Name, status)
			}
			if op.Scope != api.Read { // who may not read may use no tool
				if _, _, said := weak[lacking[op.Scope]].tool(op.Tool.Name, args); said != "token has no "+string(op.Scope)+" scope" {
					t.Errorf("%s as a tool, without the right: %q", op.Name, said)
				}
			}
			var said string
			if !slow(func(one *web) bool {
				var status int
				status, _, said = one.tool(op.Tool.Name, args)
				return status == http.StatusTooManyRequests || strings.Contains(said, often)
			}) {
				t.Errorf("%s as a tool, too often: %q", op.Name, said)
			}
			for _, f := range op.Takes().ForTools() {
				if f.Idle || f.Kind.Type == "" {
					continue
				}
				bad := arguments(op.Takes().ForTools())
				bad[f.Name] = wrongType(f.Kind.Type)
				if _, _, said := w.tool(op.Tool.Name, bad); !strings.Contains(said, f.Name+": want ") {
					t.Errorf("%s as a tool, %s of another type: %q", op.Name, f.Name, said)
				}
			}
			if _, _, said := w.tool(op.Tool.Name, obj{"colour": "red"}); !strings.Contains(said, "unknown field 'colour'") {
				t.Errorf("%s as a tool, an unknown argument: %q", op.Name, said)
			}
		}
		if op.HTTP != "" && op.Scope != "" && !op.Stream && op.Body == "" && op.Media == "" {
			m := &wire.Operation{Name: op.Name}
			at := c.nodes[0].Addrs().Wire
			if said := refusal(t, at, "", wire.OpOperation, m); said == "" {
				t.Errorf("%s as OPERATION, without a token, is answered", op.Name)
			}
			if said := refusal(t, at, weak[lacking[op.Scope]].token, wire.OpOperation, m); said != "token has no "+string(op.Scope)+" scope" {
				t.Errorf("%s as OPERATION, without the right: %q", op.Name, said)
			}
		}
		if op.Wire != 0 {
			m, known := frames[op.Wire]
			if !known {
				t.Errorf("%s: the matrix has no frame for opcode %s", op.Name, op.Wire)
				continue
			}
			at := c.nodes[0].Addrs().Wire
			if said := refusal(t, at, "", op.Wire, m); said == "" {
				t.Errorf("%s over the wire, without a token, is answered", op.Name)
			}
			if op.Scope != "" {
				if said := refusal(t, at, weak[lacking[op.Scope]].token, op.Wire, m); said != "token has no "+string(op.Scope)+" scope" {
					t.Errorf("%s over the wire, without the right: %q", op.Name, said)
				}
				if !slow(func(one *web) bool { return strings.Contains(refusal(t, at, one.token, op.Wire, m), often) }) {
					t.Errorf("%s over the wire, too often, is answered", op.Name)
				}
			}
		}
	}
	get := &wire.Operation{Name: api.Get.Name, Request: wire.JSON(`{"rid":"none"}`)}
	if !slow(func(one *web) bool {
		return strings.Contains(refusal(t, c.nodes[0].Addrs().Wire, one.token, wire.OpOperation, get), often)
	}) {
		t.Error("OPERATION, too often, is answered")
	}
	for _, m := range []struct {
		wire.Operation
		want string
	}{
		{wire.Operation{Name: api.Export.Name}, "operation \"export\" streams: use HTTP, GET /v1/export"},
		{wire.Operation{Name: api.Events.Name}, "streams: use HTTP, GET /v1/events, or the wire message SUBSCRIBE"},
		{wire.Operation{Name: api.Search.Name}, "is for the dialects of this host"},
		{wire.Operation{Name: "memry"}, "there is no operation \"memry\": did you mean \"memory\"?"},
		{wire.Operation{Name: strings.Repeat("long", 1<<20)}, "\"longlong"},
		{wire.Operation{Name: api.Get.Name, Request: wire.JSON(`{"rid":7}`)}, "rid: want "},
		{wire.Operation{Name: api.Get.Name, Request: wire.JSON(`{"colour":"red"}`)}, "unknown field 'colour'"},
		{wire.Operation{Name: api.Get.Name, Request: wire.JSON(`[]`)}, "want an object"},
	} {
		if said := refusal(t, c.nodes[0].Addrs().Wire, w.token, wire.OpOperation, &m.Operation); !strings.Contains(said, m.want) || len(said) > 400 {
			t.Errorf("OPERATION %.40s %s: %.400q", m.Name, m.Request, said)
		}
	}
}

// TestDialectsPassTheDoor asks the operations that no surface but the dialects of this host has: without the right, and
// too often.
func TestDialectsPassTheDoor(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	w.ok("POST", "/v1/databases", obj{"name": "busy"})
	w.ok("POST", "/v1/admin/databases/busy/quota", obj{"max_rps": 1, "burst": 1})
	host := c.nodes[0].Host()
	busy, err := host.Local("busy")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, op := range api.Ops {
		if may := host.May(busy, op) == nil; may && op.Scope == api.Admin {
			t.Errorf("%s is allowed to a dialect, which owns a database and administers nothing", op.Name)
		} else if !may && slices.Contains([]api.Scope{"", api.Read, api.Write, api.Owner}, op.Scope) {
			t.Errorf("%s is refused to a dialect in its own database", op.Name)
		}
		if op.HTTP != "" || op.Tool != nil || op.Wire != 0 || op.Scope == "" { // anybody may ask what needs no right
			continue
		}
		asked++
		poor := busy
		poor.Scopes = nil
		if _, err := host.Do(t.Context(), poor, op, op.New()); err == nil || err.Error() != "token has no "+string(op.Scope)+" scope" {
			t.Errorf("%s without the right: %v", op.Name, err)
		}
		if ofHost := slices.Contains([]api.Scope{api.Programs, api.Files, api.Git, api.Network, api.Stop}, op.Scope); ofHost == (host.May(busy, op) == nil) {
			t.Errorf("%s is allowed to this host's user though nothing was configured, or is not though it is about a memory", op.Name)
		}
		if op.Scope == api.Owner || op.Cost != nil && op.Cost(op.New()) == 0 {
			continue // no bound of a database holds it
		}
		for range 2 {
			_, _ = host.Do(t.Context(), busy, api.Search.Op, &api.SearchRequest{Text: "anything", K: 1}) // uses up the second's one operation
		}
		if _, err := host.Do(t.Context(), busy, op, op.New()); err == nil || !strings.Contains(err.Error(), "too many requests for this database") {
			t.Errorf("%s too often: %v", op.Name, err)
		}
	}
	if asked == 0 {
		t.Error("there are no such operations")
	}
}

// TestADialectSeesItsDatabaseAlone: the view that a dialect's function gets is of its database. Other databases,
// tokens, limits, members and the log are not in it, whatever the function asks for.
func TestADialectSeesItsDatabaseAlone(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	for _, name := range []string{"mine", "other"} {
		w.ok("POST", "/v1/databases", obj{"name": name})
		w.ok("POST", "/v1/remember?database="+name, obj{"text": "Ada is in " + name})
		w.ok("POST", "/v1/admin/tokens", obj{"database": name, "label": name})
		w.ok("POST", "/v1/admin/databases/"+name+"/quota", obj{"max_rps": 1000})
	}
	host := c.nodes[0].Host()
	other, err := c.nodes[0].Access().Local("other")
	if err != nil {
		t.Fatal(err)
	}
	whole := func(v *state.View, db oplog.DB, sees func(what string, n int)) {
		count := func(db oplog.DB) (n int) {
			v.Memories(db, 0, func(*oplog.Memory) bool { n++; return true })
			v.Recent(db, 0, func(*oplog.Memory) bool { n++; return true })
			v.MemoriesBack(db, 0, func(*oplog.Memory) bool { n++; return true })
			v.Entities(db, func(oplog.Entity) bool { n++; return true })
			return n
		}
		own, named := v.Database(db)
		if !named || own.Name != "mine" || count(db) < 3 || v.Stats(db).Active != 1 {
			t.Errorf("of its own database: %+v, %d rows, %+v", own, count(db), v.Stats(db))
		}
		sees("memories of another database", count(other.DB)+int(v.Stats(other.DB).Active))
		_, there := v.Database(other.DB)
		_, known := v.DatabaseNamed("other")
		sees("another database", len(v.Databases())+map[bool]int{true: 1}[there || known])
		sees("tokens", len(v.Tokens()))
		sees("limits", len(v.Limits().Databases)+len(v.Limits().Tokens))
		sees("members", len(v.Nodes()))
		sees("the audit", len(v.Audits(100)))
		sees("the cluster", len(v.Cluster()))
		entries := 0
		if err := v.Log(0, func(oplog.Outcome) bool { entries++; return true }); err != nil {
			entries++
		}
		sees("the log", entries)
	}
	at := api.At{Host: host, Database: "mine"}
	if err := at.View(t.Context(), func(v *state.View, db oplog.DB) error {
		whole(v, db, func(what string, n int) {
			if n != 0 {
				t.Errorf("a dialect sees %s: %d", what, n)
			}
		})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// refusal returns the error with which a node answers a frame, blank for another answer. Without a token the frame is
// the first on its connection.
func refusal(t *testing.T, addr, token string, op wire.Op, m wire.Message) string {
	t.Helper()
	k := dialTalker(t, addr)
	if token != "" {
		if f := k.ask(wire.OpAuth, &wire.Auth{Token: token}); f.Op != wire.OpAuthOK {
			t.Fatalf("auth: %s", f)
		}
	}
	f := k.ask(op, m)
	switch f.Op {
	case wire.OpError, wire.OpReadonlyError, wire.OpAuthFail:
		var e wire.Error
		if err := wire.Unpack(f, &e, wire.MaxPlainClient); err != nil {
			t.Fatal(err)
		}
		return e.Message
	}
	return ""
}
