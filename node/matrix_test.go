package node_test

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/reads"
	"github.com/cairndb/cairn/oplog"
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

// arguments returns the smallest valid request: a value for each required field.
func arguments(o field.Object) obj {
	given := obj{}
	for _, f := range o {
		if f.Must {
			given[f.Name] = rightType(cmp.Or(f.Kind.Type, "any"))
		}
	}
	return given
}

// lacking returns a scope that does not include the required one.
var lacking = map[api.Scope]string{api.Read: "write", api.Write: "read", api.Owner: "read", api.Admin: "owner"}

// TestMatrix calls every operation of the table, on each surface that has it, without a token, without the right,
// over the limit, and with invalid fields. The door rejects all of them in the same way. TestEveryRouteRefuses covers
// errors that only HTTP can have.
func TestMatrix(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Limits.FailedLogins = 10_000 })
	w := c.web(0)
	weak := map[string]*web{}
	for _, s := range []string{"read", "write", "owner"} {
		weak[s] = w.with(w.createToken(obj{"scopes": []string{s}}))
	}
	// slow sends a request with a token whose one operation a second is used up, and again if the machine took longer
	// for it.
	slow := func(refused func(one *web) bool) bool {
		for {
			token := w.createToken(obj{"scopes": []string{"read", "write", "admin"}})
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
				missing := status == http.StatusBadRequest && len(op.InQuery()) > 0 // parameters are checked before the operation is counted
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
			if op.Scope != api.Read { // tools need scope read
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
		if said := refusal(t, c.nodes[0].Addrs().Wire, w.token, wire.OpOperation, &m.Operation); !strings.Contains(said, m.want) ||
			len(said) > 400 {
			t.Errorf("OPERATION %.40s %s: %.400q", m.Name, m.Request, said)
		}
	}
}

// TestDialectsPassTheDoor calls the operations that only the dialects of this host have, without the right and over
// the limit.
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
		if op.HTTP != "" || op.Tool != nil || op.Wire != 0 || op.Scope == "" { // operations without a right need no token
			continue
		}
		asked++
		poor := busy
		poor.Scopes = nil
		if _, err := host.Do(t.Context(), poor, op, op.New()); err == nil || err.Error() != "token has no "+string(op.Scope)+" scope" {
			t.Errorf("%s without the right: %v", op.Name, err)
		}
		if ofHost := slices.Contains([]api.Scope{api.Programs, api.Files, api.Git, api.Network, api.Stop},
			op.Scope); ofHost == (host.May(busy, op) == nil) {
			t.Errorf("%s is allowed to this host's user though nothing was configured, or is not though it is about a memory", op.Name)
		}
		if op.Scope == api.Owner || op.Cost != nil && op.Cost(op.New()) == 0 {
			continue // not subject to the limit of a database
		}
		for range 2 {
			_, _ = host.Do(t.Context(), busy, api.Search.Op, &api.SearchRequest{Text: "anything", K: 1}) // uses up the operation of this second
		}
		if _, err := host.Do(t.Context(), busy, op, op.New()); err == nil ||
			!strings.Contains(err.Error(), "too many requests for this database") {
			t.Errorf("%s too often: %v", op.Name, err)
		}
	}
	if asked == 0 {
		t.Error("there are no such operations")
	}
}

// TestADialectSeesItsDatabaseAlone checks that a dialect's reads of its empty database do not depend on other
// databases, where the same requests find memories.
func TestADialectSeesItsDatabaseAlone(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w, host := c.web(0), c.nodes[0].Host()
	callers := map[string]api.Caller{}
	for _, name := range []string{"empty", "other"} {
		w.ok("POST", "/v1/databases", obj{"name": name})
		caller, err := host.Local(name)
		if err != nil {
			t.Fatal(err)
		}
		callers[name] = caller
	}
	do := func(database string, op *api.Op, request any) any {
		t.Helper()
		a, err := host.Do(t.Context(), callers[database], op, request)
		if err != nil {
			t.Fatalf("%s in %s: %v", op.Name, database, err)
		}
		return a
	}
	const rid, workspace = "0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12", "_sift/one"
	finds := map[*api.Op]any{
		api.IDs.Op:         &api.IDsRequest{RIDs: []string{rid}, Short: []string{"#1", rid[:13]}},
		api.EdgesOf.Op:     &api.EdgesOfRequest{Entities: []string{"Ada"}, Most: 10},
		api.Numbered.Op:    &api.NumberedRequest{Seqs: []oplog.Seq{1, 2, 3}},
		api.Neighbours.Op:  &api.NeighboursRequest{Visibility: api.Visibility{Namespace: workspace, Private: "_"}, Before: 10},
		api.Workspace.Op:   &api.WorkspaceRequest{Namespace: workspace},
		api.KnownEvents.Op: &api.KnownEventsRequest{Workspace: workspace, Marks: []api.EventMark{{Session: "s", Hash: []byte("h")}}},
		api.Captures.Op:    &api.CapturesRequest{Workspace: workspace},
		api.Alike.Op:       &api.AlikeRequest{Workspace: workspace, Session: "s"},
		api.Owned.Op:       &api.OwnedRequest{Owner: "op", Limit: 10},
		api.Receipts.Op:    &api.ReceiptsRequest{Payer: "op", Limit: 10},
		api.Grants.Op:      &api.GrantsRequest{Limit: 10},
		api.Identified.Op:  &api.IdentifiedRequest{Display: "user@local"},
		api.Census.Op:      &api.CensusRequest{Window: 10, RIDs: []string{rid}},
		api.Recent.Op:      &api.RecentRequest{Limit: 10},
		api.LookUp.Op:      &api.LookUpRequest{RID: rid, Entities: []string{"Ada"}, Edges: 10},
		api.Tiers.Op:       &api.TiersRequest{Look: 10},
	}
	answer := func(database string, op *api.Op) any {
		t.Helper()
		if finds[op] == nil {
			t.Fatalf("%s has no request here that finds something", op.Name)
		}
		a := do(database, op, finds[op])
		if tiers, ok := a.(*api.TierCounts); ok {
			tiers.Index = 0 // the log includes all databases
		}
		return a
	}
	before := map[*api.Op]any{}
	for op := range reads.All {
		before[op] = answer("empty", op)
	}
	content := func(namespace, id string) *oplog.Remember {
		return &oplog.Remember{Content: oplog.Content{RID: id, Text: "Ada leads payments", Namespace: namespace, Owner: "op",
			Importance: .5, Created: 1000}}
	}
	do("other", api.KeepIdentity.Op,
		&api.KeepIdentityRequest{Identity: &oplog.Identity{Key: "op", Display: "user@local", Operator: true, At: 1},
			Grants: []*oplog.Grant{{Signature: "s", Subject: "op", Action: "read", Scope: []byte("{}"), GrantedBy: "op", At: 1}}})
	do("other", api.KeepIntent.Op, &api.KeepIntentRequest{Key: "k", Memory: content(oplog.CovenantNamespace, rid),
		Receipt: &oplog.Receipt{ID: "r", Payer: "op", Resource: "memory", Memory: rid, Credits: 1, At: 1000}})
	do("other", api.Capture.Op,
		&api.CaptureRequest{Said: []api.Said{{Session: "s", Tool: "Bash", Payload: "ls"}},
			Make: func([]api.Said) (all []api.CapturedEvent, _ error) {
				for _, session := range []string{"s", "t"} {
					summary := content(workspace, oplog.NewID())
					all = append(all, api.CapturedEvent{Summary: summary,
						Event: &oplog.Event{Workspace: workspace, Session: session, Tool: "Bash", Hash: []byte("h"), Payload: []byte("{}"), At: 1,
							Status: oplog.EventSummarized, Summary: summary.RID}})
				}
				return all, nil
			}})
	do("other", api.Relate.Op, &api.RelateRequest{Src: "Ada", Dst: "payments", Type: "leads", Weight: 1})

	for op, want := range before {
		if got := answer("empty", op); !reflect.DeepEqual(got, want) {
			t.Errorf("%s in an empty database: %+v, want %+v", op.Name, got, want)
		}
		if got := answer("other", op); reflect.DeepEqual(got, want) {
			t.Errorf("%s does not find what the other database holds: %+v", op.Name, got)
		}
	}
}

// refusal returns the error of a node for a frame, "" if the answer is not an error. Without a token the frame is the
// first on its connection.
func refusal(t *testing.T, addr, token string, op wire.Op, m wire.Message) string {
	t.Helper()
	k := dialRawClient(t, addr)
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
