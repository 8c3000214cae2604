//go:build full || soak

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestTable: words that stand beside the same words have like vectors, and the same text gives the same table.
func TestTable(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	lines := strings.Repeat("the boat sails on the sea\nthe ship sails on the sea\na tree grows in a wood\na rose grows in a field\n", 3)
	if err := os.WriteFile(text, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var versions []string
	for range 2 {
		dir := t.TempDir()
		if out, err := labCommand(t.Context(), "table", "--text", text, "--out", dir, "--dim", "8").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		e, err := bench.OpenEmbedder("static:" + dir)
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Embed(t.Context(), []string{"boat", "ship", "tree"})
		if err != nil {
			t.Fatal(err)
		}
		if like, unlike := vector.Dot(v[0], v[1]), vector.Dot(v[0], v[2]); like < unlike+.3 {
			t.Errorf("boat is like ship by %.2f, like tree by %.2f", like, unlike)
		}
		versions = append(versions, e.Identity().Version)
	}
	if versions[0] != versions[1] {
		t.Errorf("two tables of one text: %q", versions)
	}
}

// TestAlikeWithVectors: three nodes answer with the same bits when vectors are made by the nodes.
func TestAlikeWithVectors(t *testing.T) {
	suite.NotShort(t, "three nodes of one process lose their leader under the race detector")
	t.Parallel()
	r := figuresOf[alikeReport](t, "alike", "--size", "600", "--asks", "60", "--embedder", "random")
	if len(r.Checks) != 3 {
		t.Fatalf("got %+v", r)
	}
	for _, c := range r.Checks {
		if c.Alike != r.Questions || r.Questions == 0 {
			t.Errorf("%s: %d of %d; %s", c.Node, c.Alike, r.Questions, c.First)
		}
	}
}
