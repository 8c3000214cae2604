package state

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// tableBound lists functions whose result depends on the Unicode tables of the toolchain, which change with its
// version.
var tableBound = map[string]bool{"ToLower": true, "ToUpper": true, "ToTitle": true, "Title": true, "EqualFold": true,
	"TrimSpace": true, "Fields": true, "FieldsSeq": true,
	"ToLowerSpecial": true, "ToUpperSpecial": true, "ToTitleSpecial": true}

// unpinned lists imports that Apply must not reach: Unicode tables, randomness, and packages that use either.
var unpinned = []string{"unicode", "golang.org/x/text", "math/rand", "github.com/blevesearch",
	"github.com/cairndb/cairn/oplog/extract", "github.com/cairndb/cairn/index"}

// TestApplyKnowsNoTables: this package and the operations must give the same result in every build. None of their
// files calls a function that depends on the toolchain's Unicode tables.
func TestApplyKnowsNoTables(t *testing.T) {
	looked := 0
	own, _ := filepath.Glob("*.go")
	below, _ := filepath.Glob("../*.go")
	attributes, _ := filepath.Glob("../filter/*.go")
	names, _ := filepath.Glob("../fold/*.go")
	for _, path := range slices.Concat(own, below, attributes, names) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		must(t, err)
		looked++
		for _, i := range f.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			for _, no := range unpinned {
				if name == no || strings.HasPrefix(name, no+"/") && name != "unicode/utf8" {
					t.Errorf("%s imports %s", fset.Position(i.Pos()), name)
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && (x.Name == "strings" || x.Name == "bytes") && tableBound[s.Sel.Name] {
					t.Errorf("%s: %s.%s depends on the toolchain's version of Unicode", fset.Position(s.Pos()), x.Name, s.Sel.Name)
				}
			}
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING &&
				(strings.Contains(lit.Value, "(?i") || strings.Contains(lit.Value, `\p{`)) {
				t.Errorf("%s: a pattern that folds or names classes of letters", fset.Position(lit.Pos()))
			}
			return true
		})
	}
	if looked < 30 {
		t.Errorf("only %d files were looked at", looked)
	}
}

// TestMergedMetadataIsPinned: the metadata after a correction is stored, so a toolchain whose JSON encoding differs
// must fail here.
func TestMergedMetadataIsPinned(t *testing.T) {
	for _, c := range [][3]string{
		{``, `{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{`{"a":1.50,"b":{"z":1, "y":2}}`, `{"c":1e400}`, `{"a":1.50,"b":{"z":1,"y":2},"c":1e400}`},
		{`{"a":1,"b":2}`, `{"a":null}`, `{"b":2}`},
		{`null`, `{"A":1,"a":2}`, `{"A":1,"a":2}`},
		{`{"a":1}`, `{"a":1,"a":2}`, `{"a":2}`},
		{`{}`, `{"<&>":"<&>","\u2028":"\b\f\u0001é\ud800"}`,
			"{\"\\u003c\\u0026\\u003e\":\"\\u003c\\u0026\\u003e\",\"\\u2028\":\"\\b\\f\\u0001é\\ud800\"}"},
		{`{}`, "{\"k\":\"\xff\",\"\xff\":1,\"\u2029\":\"\u2028\"}", "{\"k\":\"\xff\",\"\\u2029\":\"\\u2028\",\"\uFFFD\":1}"},
	} {
		if got := mergeJSON([]byte(c[0]), []byte(c[1])); string(got) != c[2] {
			t.Errorf("%q into %q: %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

// TestADatabaseOfTheSameBatch: an entry for a database that a later record creates is rejected without effect,
// whether the two are in the same batch or not.
func TestADatabaseOfTheSameBatch(t *testing.T) {
	t.Parallel()
	records := []oplog.Record{
		record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}),
		record(2, []oplog.Entry{{DB: 2, Key: "k", Ops: []oplog.Op{&oplog.Advertise{Node: 1}}}}), // an operation that uses no database
		record(3, []oplog.Entry{{Ops: []oplog.Op{&oplog.CreateDB{Name: "later"}}}}),
		record(4, []oplog.Entry{{DB: 2, Key: "k", Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: "m", Text: "t"}}}}}),
	}
	var sums []Sum
	for _, batches := range [][][]oplog.Record{{records}, {records[:1], records[1:2], records[2:]}, {records[:2], records[2:]}} {
		s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
		defer s.Close()
		for _, b := range batches {
			out, err := s.Apply(b)
			must(t, err)
			for _, o := range out {
				if (o.Err != nil) != (o.Index == 2) {
					t.Errorf("record %d: %v", o.Index, o.Err)
				}
			}
		}
		if err := s.Read(func(v *View) error {
			if n := v.Stats(2).Operations; n != 1 {
				t.Errorf("%d operations are counted", n)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		_, sum := s.Sum()
		sums = append(sums, sum)
	}
	if sums[0] != sums[1] || sums[0] != sums[2] {
		t.Errorf("the state depends on the batches: %v", sums)
	}
}
