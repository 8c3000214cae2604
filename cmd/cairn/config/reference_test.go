package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// reference writes the configuration's keys down as the source has them, with the comments behind them.
type reference struct {
	types map[string]*ast.StructType
	out   strings.Builder
}

func (r *reference) section(path string, s *ast.StructType) {
	var inner []func()
	head := false
	for _, f := range s.Fields.List {
		key := ""
		if f.Tag != nil {
			tag, _ := strconv.Unquote(f.Tag.Value)
			key = reflect.StructTag(tag).Get("toml")
		}
		st := r.structOf(f.Type)
		switch {
		case len(f.Names) == 0 && st != nil: // embedded: its keys are this section's
			inner = append(inner, func() { r.rows(path, &head, st) })
		case st != nil:
			inner = append(inner, func() { r.section(strings.TrimPrefix(path+"."+key, "."), st) })
		default:
			r.row(path, &head, key, f)
		}
	}
	for _, f := range inner {
		f()
	}
}

func (r *reference) rows(path string, head *bool, s *ast.StructType) {
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		if st := r.structOf(f.Type); st == nil {
			r.row(path, head, reflect.StructTag(tag).Get("toml"), f)
		}
	}
}

func (r *reference) row(path string, head *bool, key string, f *ast.Field) {
	if path == "" || key == "" {
		return // a whole section without effect
	}
	if !*head {
		*head = true
		fmt.Fprintf(&r.out, "\n## [%s]\n\n| key | type | default and meaning |\n|---|---|---|\n", path)
	}
	said := strings.TrimSpace(f.Comment.Text())
	fmt.Fprintf(&r.out, "| `%s` | %s | %s |\n", key, typeName(f.Type), strings.ReplaceAll(said, "|", "\\|"))
}

func (r *reference) structOf(t ast.Expr) *ast.StructType {
	switch t := t.(type) {
	case *ast.StructType:
		return t
	case *ast.Ident:
		return r.types[t.Name]
	case *ast.ArrayType:
		return r.structOf(t.Elt)
	}
	return nil
}

func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.ArrayType:
		return "list of " + typeName(t.Elt)
	case *ast.Ident:
		switch {
		case t.Name == "bool":
			return "boolean"
		case strings.HasPrefix(t.Name, "int"), strings.HasPrefix(t.Name, "uint"), strings.HasPrefix(t.Name, "float"):
			return "number"
		}
		return t.Name
	}
	return "table"
}

// TestConfigReferenceIsCurrent: deploy/CONFIG.md is what the code says. CAIRN_UPDATE=1 writes it anew.
func TestConfigReferenceIsCurrent(t *testing.T) {
	r := &reference{types: map[string]*ast.StructType{}}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				for _, s := range g.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok {
						if st, ok := ts.Type.(*ast.StructType); ok {
							r.types[ts.Name.Name] = st
						}
					}
				}
			}
		}
	}
	r.out.WriteString("# Configuration\n\nMade from the code by a test of `cmd/cairn/config`; `CAIRN_UPDATE=1 go test ./cmd/cairn/config -run ConfigReference` writes it anew.\n" +
		"The file is TOML, named by `cairn serve --config`. Flags override the environment, and the environment the file.\n" +
		"An unknown key is a warning, and an error with `--strict`; in `[tls]` and `[encryption]` it always is an error.\n")
	r.section("", r.types["File"])
	r.out.WriteString("\n## Environment\n\n| variable | |\n|---|---|\n")
	for _, o := range Overrides {
		rest := ""
		if len(o.names) > 1 {
			rest = "also " + strings.Join(o.names[1:], ", ")
		}
		fmt.Fprintf(&r.out, "| `%s` | %s |\n", o.names[0], rest)
	}
	path := filepath.Join("../../../deploy", "CONFIG.md")
	if os.Getenv("CAIRN_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(r.out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != r.out.String() {
		t.Errorf("deploy/CONFIG.md is not what the code says (%v): CAIRN_UPDATE=1 go test ./cmd/cairn/config -run ConfigReference", err)
	}
}
