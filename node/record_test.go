package node_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// allFields returns a memory with a distinct value for each field that a client may set, so that new fields are
// covered automatically. Flags get the opposite of their defaults. Keys and vectors are left out because they are not
// fields of the memory, and the ttl because it is stored as a time.
func allFields(o field.Object) obj {
	values := obj{}
	for i, f := range o {
		switch {
		case f.Name == "idempotency_key" || f.Name == "embedding" || f.Name == "ttl":
		case f.Kind.Name == "date":
			values[f.Name] = float64(1_700_000_000 + i)
		case f.Kind.Type == "number":
			values[f.Name] = float64(i+1) / 64
		case f.Kind.Type == "boolean":
			values[f.Name] = f.Default == "false"
		case len(f.Kind.Enum) > 0:
			values[f.Name] = f.Kind.Enum[len(f.Kind.Enum)-1]
		case f.Kind.Type == "string":
			values[f.Name] = "the " + f.Name
		default:
			values[f.Name] = obj{"of": f.Name}
		}
	}
	return values
}

// lost returns the fields in which two memories differ, except those that are unique to a memory.
func lost(got, want oplog.Content, but ...string) (names []string) {
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for _, f := range reflect.VisibleFields(g.Type()) {
		if !slices.Contains(but, f.Name) && !reflect.DeepEqual(g.FieldByIndex(f.Index).Interface(), w.FieldByIndex(f.Index).Interface()) {
			names = append(names, fmt.Sprintf("%s is %v, want %v", f.Name, g.FieldByIndex(f.Index), w.FieldByIndex(f.Index)))
		}
	}
	return names
}

// TestEveryFieldArrives sends a memory with all fields through every surface that accepts or returns whole memories,
// and reports fields that get lost. TestMemoriesSurviveExport covers exports.
func TestEveryFieldArrives(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w, s := c.web(0), c.nodes[0]
	w.ok("POST", "/v1/databases", obj{"name": "other"})
	stored := func(database, rid string) (m oplog.Content) {
		t.Helper()
		caller, err := s.Access().Local(database)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.State().Read(func(v *state.View) error {
			row, ok := v.Memory(caller.DB, rid)
			if ok {
				m = row.Content
			}
			return nil
		}); err != nil || m.RID == "" {
			t.Fatalf("no memory %q in %s: %v", rid, database, err)
		}
		return m
	}

	fields := field.Of(reflect.TypeFor[api.Draft]())
	values := allFields(fields)
	rid := w.ok("POST", "/v1/remember", values)["rid"].(string)
	want := stored("default", rid)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[api.Draft]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if values[name] == nil {
			continue
		}
		if kept := reflect.ValueOf(want).FieldByName(cmp.Or(strings.TrimPrefix(f.Tag.Get("of"), "!"), f.Name)); !kept.IsValid() ||
			kept.IsZero() {
			t.Errorf("HTTP: %s is not stored", name)
		}
	}

	shown := w.ok("GET", "/v1/memory/"+rid, nil)
	for name, value := range values {
		if name == "tier" {
			name = "storage_tier"
		}
		if !reflect.DeepEqual(shown[name], value) {
			t.Errorf("GET memory: %s is %v, want %v", name, shown[name], value)
		}
	}

	var m wire.Remember
	message := reflect.ValueOf(&m).Elem()
	missing := maps.Clone(values)
	for i := range message.NumField() {
		name, _, _ := strings.Cut(message.Type().Field(i).Tag.Get("wire"), ",")
		if value, ok := missing[name]; ok {
			raw, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if at := message.Field(i); at.Type() == reflect.TypeFor[wire.JSON]() {
				at.SetBytes(raw)
			} else if err := json.Unmarshal(raw, at.Addr().Interface()); err != nil {
				t.Fatalf("wire: %s: %v", name, err)
			}
			delete(missing, name)
		}
	}
	if len(missing) > 0 {
		t.Errorf("the wire's REMEMBER lacks %v", missing)
	}
	overWire, err := c.dial(0).Remember(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if names := lost(stored("default", overWire), want, "RID", "Updated", "Stamp", "Dialect"); len(names) > 0 {
		t.Errorf("wire: %s", strings.Join(names, "; "))
	}

	given, untold := obj{}, []string{"RID", "Updated", "Stamp", "Dialect"}
	for _, f := range fields {
		if told := slices.ContainsFunc(fields.ForTools(), func(t field.Field) bool { return t.Name == f.Name }); told &&
			values[f.Name] != nil {
			given[f.Name] = values[f.Name]
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[api.Draft]()) {
		if f.Tag.Get("tool") == "-" {
			untold = append(untold, f.Name)
		}
	}
	if _, _, failure := w.tool("remember", given); failure != "" {
		t.Fatal(failure)
	}
	newest := w.ok("GET", "/v1/records?limit=1", nil)["records"].([]any)[0].(obj)["rid"].(string)
	if names := lost(stored("default", newest), want, untold...); newest == overWire || len(names) > 0 {
		t.Errorf("MCP: %s", strings.Join(names, "; "))
	}

	p := dialStranger(t, s.Addrs().Cluster)
	pulled, e := p.pull(&wire.OplogPull{Database: "default", Limit: 1})
	if e.Code != 0 || len(pulled.Ops) != 1 {
		t.Fatal(pulled, e)
	}
	if f := p.ask(wire.OpOplogPush, &wire.OplogPush{Database: "other", Ops: pulled.Ops}); f.Op != wire.OpOplogPushOK {
		t.Fatalf("push: %s", f.Op)
	}
	if names := lost(stored("other", rid), want, "Updated", "Extractor"); len(names) > 0 {
		t.Errorf("peers: %s", strings.Join(names, "; "))
	}
}
