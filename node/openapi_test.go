package node_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// readers are the methods by which handlers take fields of the body and parameters of the query, with the type each takes.
var readers = map[string]struct{ from, kind string }{
	"must": {"body", "string"}, "str": {"body", "string"}, "num": {"body", "number"}, "optional": {"body", "number"},
	"whole": {"body", "integer"}, "flag": {"body", "boolean"}, "strs": {"body", "[]string"}, "vector": {"body", "[]number"}, "object": {"body", "object"},
	"date": {"body", ""}, "epoch": {"body", ""}, "raw": {"body", ""}, "decoded": {"body", ""},
	"param": {"query", ""}, "count": {"query", "integer"}, "on": {"query", "boolean"}, "intParam": {"query", "integer"},
	"Get": {"query", ""}, "Has": {"query", ""},
}

// source is the package's own code: what each handler reads is found in it.
type source struct {
	funcs map[string]*ast.FuncDecl // by name, methods by receiver and name
	memo  map[string]map[string]string
}

func readSource(t *testing.T) *source {
	t.Helper()
	s := &source{funcs: map[string]*ast.FuncDecl{}, memo: map[string]map[string]string{}}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				s.funcs[receiver(fn)+fn.Name.Name] = fn
			}
		}
	}
	return s
}

func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	e := fn.Recv.List[0].Type
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	id, _ := e.(*ast.Ident)
	return id.Name + "."
}

// reads are the "body name" and "query name" that a function takes, itself or through those it calls, with their types.
func (s *source) reads(name string) map[string]string {
	if done, ok := s.memo[name]; ok {
		return done
	}
	found := map[string]string{}
	s.memo[name] = found
	fn := s.funcs[name]
	if fn == nil || fn.Body == nil {
		return found
	}
	var lists []string // names that are read in a loop
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.RangeStmt); ok {
			if lit, ok := r.X.(*ast.CompositeLit); ok {
				lists = append(lists, literals(lit.Elts)...)
			}
		}
		return true
	})
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if x, ok := n.(*ast.IndexExpr); ok && isQuery(x.X) { // of several values
			for _, field := range literals([]ast.Expr{x.Index}) {
				found["query "+field] = ""
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := callee(call)
		if r, ok := readers[name]; ok && (name != "Get" && name != "Has" || ofQuery(call)) {
			list := literals(call.Args)
			list = list[:min(len(list), 1)] // what follows is a default
			if len(list) == 0 {
				list = lists
			}
			for _, field := range list {
				key := r.from + " " + field
				found[key] = cmp.Or(found[key], r.kind)
			}
			return true
		}
		for _, target := range []string{name, "request." + name, "gateway." + name, "Service." + name} {
			if fn, ok := s.funcs[target]; ok && takesRequest(fn) {
				maps.Copy(found, s.reads(target))
			}
		}
		return true
	})
	return found
}

// takesRequest says whether a function can read of a request: it is given one, or a part of it, or belongs to one.
func takesRequest(fn *ast.FuncDecl) bool {
	if receiver(fn) == "request." {
		return true
	}
	return slices.ContainsFunc(fn.Type.Params.List, func(f *ast.Field) bool {
		e := f.Type
		if p, ok := e.(*ast.StarExpr); ok {
			e = p.X
		}
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name == "request" || e.Name == "fields"
		case *ast.SelectorExpr:
			return e.Sel.Name == "Request"
		}
		return false
	})
}

// ofQuery says whether a call is one of the URL's query: Get is also how headers are read.
func ofQuery(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && isQuery(f.X)
}

func isQuery(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && callee(call) == "Query"
}

func callee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.IndexExpr:
		if id, ok := f.X.(*ast.Ident); ok {
			return id.Name
		}
	}
	return ""
}

func literals(list []ast.Expr) (out []string) {
	for _, e := range list {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				out = append(out, s)
			}
		}
	}
	return out
}

// handlers are the functions that the lines of the route table name, by the line's name.
func (s *source) handlers(t *testing.T) map[string]string {
	t.Helper()
	byName := map[string]string{}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			var route, handler string
			for _, e := range lit.Elts {
				kv, ok := e.(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				switch key, _ := kv.Key.(*ast.Ident); {
				case key == nil:
				case key.Name == "name":
					route = strings.Join(literals([]ast.Expr{kv.Value}), "")
				case key.Name == "handle":
					handler = handlerName(kv.Value)
				}
			}
			if route != "" && handler != "" {
				byName[route] = handler
			}
			return true
		})
	}
	return byName
}

// handlerName reads httpRecall, and direct((*gateway).events).
func handlerName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.CallExpr:
		return handlerName(e.Args[0])
	case *ast.SelectorExpr:
		return "gateway." + e.Sel.Name
	}
	return ""
}

// undescribed is what routes that read may always be asked for, need not be in every line of the document.
var undescribed = map[string]bool{
	"query node":     true, // nodes ask each other with it
	"query database": true, "query min_seq": true, "query min_index": true, "query consistency": true, "body min_seq": true, "body min_index": true, "body consistency": true,
}

// The document tells of every field and parameter that a handler reads, with its type, and of no other.
func TestOpenAPIRequests(t *testing.T) {
	t.Parallel()
	doc := start(t, 1).web(0).ok("GET", "/openapi.json", nil)
	src := readSource(t)
	handlers := src.handlers(t)
	rows := map[string]bool{} // what they read and what is told of it is one struct
	for _, op := range api.Ops {
		rows[op.Name] = true
	}
	for _, o := range operations(doc) {
		if rows[o.doc["operationId"].(string)] {
			continue
		}
		handler, ok := handlers[o.doc["operationId"].(string)]
		if !ok {
			t.Errorf("%s: no handler found", o)
			continue
		}
		reads, told := src.reads(handler), o.tells(doc)
		for key, kind := range reads {
			said, ok := told[key]
			switch {
			case ok && kind != "" && said != "any" && said != kind && !(kind == "number" && said == "integer"):
				t.Errorf("%s: %s reads %s as %s, described as %s", o, handler, key, kind, said)
			case !ok && !undescribed[key]:
				t.Errorf("%s: %s reads %s, which is not described", o, handler, key)
			}
		}
		for key := range told {
			if _, ok := reads[key]; !ok && key != "query database" {
				t.Errorf("%s: %s is described, and %s does not read it", o, key, handler)
			}
		}
	}
}

// tells are the fields and parameters of an operation, with their types; those of the objects in a list among them.
func (o operation) tells(doc map[string]any) map[string]string {
	told := map[string]string{}
	params, _ := o.doc["parameters"].([]any)
	for _, p := range params {
		if p := p.(map[string]any); p["in"] == "query" {
			told["query "+p["name"].(string)] = typeName(p["schema"].(map[string]any))
		}
	}
	if rb, ok := o.doc["requestBody"].(map[string]any); ok {
		props := rb["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)["properties"].(map[string]any)
		for name, p := range props {
			told["body "+name] = typeName(p.(map[string]any))
			items, _ := p.(map[string]any)["items"].(map[string]any)
			if ref, ok := items["$ref"].(string); ok {
				shape := doc["components"].(map[string]any)["schemas"].(map[string]any)[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any)
				for name, p := range shape["properties"].(map[string]any) {
					told["body "+name] = typeName(p.(map[string]any))
				}
			}
		}
	}
	return told
}

func typeName(schema map[string]any) string {
	kind, _ := schema["type"].(string)
	if items, ok := schema["items"].(map[string]any); ok {
		return "[]" + typeName(items)
	}
	return cmp.Or(kind, "any")
}
