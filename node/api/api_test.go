package api

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/wire/field"
)

// TestOps: each operation has a complete row in the table, once.
func TestOps(t *testing.T) {
	t.Parallel()
	rows := 0
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if of, ok := n.(*ast.IndexListExpr); ok && len(of.Indices) == 2 {
				if name, ok := of.X.(*ast.Ident); ok && name.Name == "row" {
					rows++
				}
			}
			return true
		})
	}
	if rows != len(Ops) {
		t.Errorf("%d rows are made, %d are in Ops", rows, len(Ops))
	}
	names, routes := map[string]bool{}, map[string]bool{}
	for _, op := range Ops {
		if names[op.Name] || op.Name == "" || op.Does == "" {
			t.Errorf("operation %q: two of one name, or one that does not say what it does", op.Name)
		}
		names[op.Name] = true
		for _, path := range append([]string{op.Path()}, op.Also...) {
			if route := op.Method() + " " + path; op.HTTP != "" && routes[route] {
				t.Errorf("two operations at %s", route)
			} else {
				routes[route] = true
			}
		}
	}
}

// TestDescribed: the kind, default and example of every field can be parsed, and each parameter of a path is a field.
func TestDescribed(t *testing.T) {
	t.Parallel()
	all := map[string]field.Object{}
	for _, op := range Ops {
		takes := op.Takes()
		takes.Shapes(all, false)
		op.Gives().Shapes(all, true)
		var places []string
		for _, f := range op.InPath() {
			places = append(places, f.Name)
		}
		for _, name := range places {
			if !strings.Contains(op.Path(), "{"+name+"}") {
				t.Errorf("%s: %s is no place of %s", op.Name, name, op.Path())
			}
		}
		if strings.Count(op.Path(), "{") != len(places) {
			t.Errorf("%s: %s has places that no field takes", op.Name, op.Path())
		}
		if _, err := json.Marshal(takes.Schema()); err != nil {
			t.Errorf("%s: %v", op.Name, err)
		}
		for _, f := range takes {
			if op.HTTP != "" && (f.Must || f.In == "path") && f.Example == "" && f.Kind.Item == nil {
				t.Errorf("%s: a request must have %s, and no example shows one", op.Name, f.Name)
			}
		}
		for _, f := range slices.Concat(takes, op.Gives()) {
			for _, v := range []string{f.Default, f.Example} {
				if v == "" {
					continue
				}
				if err := f.Kind.Text(f.Name, v); err != nil {
					t.Errorf("%s: default or example: %v", op.Name, err)
				}
			}
		}
	}
}

// ofTheMoment lists the reads about this node or this moment, which need no freshness, in addition to those about
// nodes (Op.Node).
var ofTheMoment = map[string]string{
	"events": "it begins with the next event, or where the client says", "place": "of this node in its cluster",
	"gaps":               "counted by each node since its start",
	"maintenance_status": "of the last round",
	"backup":             "of what this node has", "backup_send": "a file of this node", "backup_drop": "a file of this node",
}

// TestReadsTakeAFreshness: every read of content from the log accepts a freshness. The dialects' own reads, which no
// surface offers, wait for it before.
func TestReadsTakeAFreshness(t *testing.T) {
	t.Parallel()
	for _, op := range Ops {
		_, wants := op.New().(interface{ Wanted() Fresh })
		ofMemory := op.Scope == Read || op.Scope == Owner || op.Scope == Admin
		here := op.Node || ofTheMoment[op.Name] != "" || op.HTTP == "" && op.Wire == 0 && op.Tool == nil
		switch {
		case wants && ofTheMoment[op.Name] != "":
			t.Errorf("%s tells of the moment and takes a freshness", op.Name)
		case wants && op.Writes:
			t.Errorf("%s writes and takes a freshness", op.Name)
		case !wants && !here && !op.Writes && ofMemory:
			t.Errorf("%s reads and takes no freshness: embed Fresh in its request", op.Name)
		}
	}
}

// TestBoundTokensNameNothingUnseen: each id in a request of an operation that bound tokens may use declares what it
// identifies, so that the door can check that it is in the token's namespaces.
func TestBoundTokensNameNothingUnseen(t *testing.T) {
	t.Parallel()
	var look func(op *Op, of reflect.Type)
	look = func(op *Op, of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			id := name == "id" || name == "rid" || name == "session_id" || strings.HasSuffix(name, "_rid")
			if names := f.Tag.Get("names"); id && !slices.Contains([]string{"memory", "session", "conflict", "trigger", "-"}, names) {
				t.Errorf("%s: what is %s the id of? names:%q", op.Name, name, names)
			}
			if f.IsExported() && name != "-" {
				look(op, f.Type)
			}
		}
	}
	for _, op := range Ops {
		if op.Bound == Narrowed || op.Bound == Single {
			look(op, op.types.request)
		}
	}
}
