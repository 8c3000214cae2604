package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Bounds of files, functions and structs. A larger one mixes two concerns.
const (
	maxFileLines      = 400
	maxFunctionLines  = 60
	maxStructFields   = 20
	repositoryFromCmd = "../.."
)

// wideStructs lists the structs that may have more fields, each with the reason.
var wideStructs = map[string]string{
	"index/rank/settings.go Settings":   "the numbers that recalls are tuned by, each read once beside its default",
	"node/api/cluster.go ClusterStatus": "an answer: its JSON is flat, as clients read it",
	"node/api/op.go Op":                 "a row of the table of operations: its columns",
	"node/api/record.go Draft":          "a request: its JSON is flat, as clients send it",
	"node/api/record.go ExportedMemory": "a line of an export: its JSON is flat, as imports read it",
	"node/api/record.go Memory":         "an answer: its JSON is flat, as clients read it",
	"raft/config.go Config":             "what a member is told: callbacks that its owner implements one by one",
	"node/api/record.go PeerMemory":     "a payload of the peer protocol: its JSON is flat",
	"oplog/types.go Content":            "of an operation and a row: a field is a key in the log, and keys are flat",
	"wire/raft_msgs.go RaftHello":       "a message of the peer protocol: its map is flat",
	"wire/client_msgs.go Remember":      "a message of the binary protocol: its map is flat",
	"wire/client_msgs.go Recall":        "a message of the binary protocol: its map is flat",
}

// TestSizes checks the lengths of files and functions without tests, and the number of fields of structs.
func TestSizes(t *testing.T) {
	t.Parallel()
	wide, files := map[string]bool{}, 0
	err := filepath.WalkDir(repositoryFromCmd, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "testdata", "node_modules", "artifacts"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		name, err := filepath.Rel(repositoryFromCmd, path)
		if err == nil {
			checkSizes(t, path, filepath.ToSlash(name), wide)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were looked at", files)
	}
	for name := range wideStructs {
		if !wide[name] {
			t.Errorf("%s has no more than %d fields: take it off the list", name, maxStructFields)
		}
	}
}

// checkSizes checks one file. It records in wide the structs with too many fields.
func checkSizes(t *testing.T, path, name string, wide map[string]bool) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if n := fset.File(file.Pos()).LineCount(); n > maxFileLines {
		t.Errorf("%s has %d lines, at most %d", name, n, maxFileLines)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if lines := fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1; lines > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, at most %d", name, n.Name.Name, lines, maxFunctionLines)
			}
		case *ast.TypeSpec:
			s, ok := n.Type.(*ast.StructType)
			if !ok || s.Fields.NumFields() <= maxStructFields {
				break
			}
			id := name + " " + n.Name.Name
			wide[id] = true
			if wideStructs[id] == "" {
				t.Errorf("%s has %d fields, at most %d", id, s.Fields.NumFields(), maxStructFields)
			}
		}
		return true
	})
}
