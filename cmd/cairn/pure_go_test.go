package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestNoCIsCompiled checks that the README's commands compile no C library if cgo is enabled, which is the default
// where gcc is installed. Pebble's allocator calls the C library but has no C code.
func TestNoCIsCompiled(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Standard,CgoFiles,CFiles,CXXFiles", module+"...")
	c.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"github.com/cockroachdb/pebble/v2/internal/manual"}
	seen := 0
	for d := json.NewDecoder(bytes.NewReader(out)); ; seen++ {
		var p struct {
			ImportPath                 string
			Standard                   bool
			CgoFiles, CFiles, CXXFiles []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch {
		case p.Standard:
		case len(p.CFiles)+len(p.CXXFiles) > 0:
			t.Errorf("%s brings C: %v%v", p.ImportPath, p.CFiles, p.CXXFiles)
		case len(p.CgoFiles) > 0 && !slices.Contains(allowed, p.ImportPath):
			t.Errorf("%s calls C in %v", p.ImportPath, p.CgoFiles)
		}
	}
	if seen < 100 {
		t.Errorf("only %d packages were looked at", seen)
	}
}

// TestTheLabIsNotShipped checks that the binary does not link the engines that it is compared with, the lab, or a
// checker.
func TestTheLabIsNotShipped(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", module+"cmd/cairn").Output()
	if err != nil {
		t.Fatal(err)
	}
	shipped := strings.Fields(string(out))
	for _, pkg := range shipped {
		for _, no := range []string{module + "cmd/lab", module + "index/stock", "github.com/anishathalye/porcupine", "go.etcd.io/etcd"} {
			if pkg == no || strings.HasPrefix(pkg, no+"/") {
				t.Errorf("cairn links %s", pkg)
			}
		}
		if pkg == "github.com/blevesearch/bleve/v2" || strings.Contains(pkg, "sqlite") {
			t.Errorf("cairn links %s", pkg)
		}
	}
	if !slices.Contains(shipped, module+"cmd/cairn/bench") {
		t.Errorf("only %d packages were looked at", len(shipped))
	}
}
