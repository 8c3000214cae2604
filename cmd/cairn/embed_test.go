package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/model"
	"github.com/cairndb/cairn/index/embed/bert/berttest"
	"github.com/cairndb/cairn/index/embed/models"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/suite"
)

// startMirror adds a small model to the table of known models and serves it. The calling test must run alone, because
// the table is global.
func startMirror(t *testing.T) (mirror, from string) {
	t.Helper()
	from = berttest.Small().Write(t)
	m := models.Model{Name: "small", Repository: "test/small", Revision: "abc", Licence: "none", Kind: "bert", Dim: 64, For: "tests"}
	for _, name := range []string{"config.json", "tokenizer.json", "model.safetensors"} {
		raw, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(raw)
		m.Files = append(m.Files, models.File{Name: name, Size: int64(len(raw)), SHA256: hex.EncodeToString(sum[:])})
	}
	known := models.Known
	models.Known = append(known[:len(known):len(known)], m)
	t.Cleanup(func() { models.Known = known })
	s := httptest.NewServer(http.StripPrefix("/test/small/resolve/abc/", http.FileServer(http.Dir(from))))
	t.Cleanup(s.Close)
	return s.URL, from
}

// cairn runs a command in this process.
func cairn(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestEmbedVerbs(t *testing.T) {
	suite.Full(t)
	mirror, from := startMirror(t)
	home := filepath.Join(t.TempDir(), "h")
	if code, _, stderr := cairn(t, "embed", "test", "small", "--home", home); code != cli.ExitFailed ||
		!strings.Contains(stderr, "hint: `cairn embed fetch small --home "+private.Quote(home)+"`") {
		t.Errorf("a model that is not here: exit %d, %s", code, stderr)
	}
	code, _, stderr := cairn(t, "embed", "fetch", "small", "--home", home, "--mirror", "http://127.0.0.1:1")
	part := filepath.Join(home, "models", "small.part")
	if code != cli.ExitFailed || !strings.Contains(stderr, "into "+part) ||
		!strings.Contains(stderr, "https://huggingface.co/test/small/resolve/abc/model.safetensors") {
		t.Errorf("without a network: exit %d, %s", code, stderr)
	}
	code, out, stderr := cairn(t, "embed", "fetch", "small", "--home", home, "--mirror", mirror, "--json")
	var fetched model.FetchResult
	if err := json.Unmarshal([]byte(out), &fetched); code != 0 || err != nil || !fetched.Fetched ||
		fetched.Dir != filepath.Join(home, "models", "small") {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, stderr)
	}
	code, out, _ = cairn(t, "embed", "list", "--home", home, "--json")
	var list []model.ListedModel
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil || len(list) != len(models.Known) {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	for _, r := range list {
		if here := r.Dir != ""; here != (r.Name == "small") || r.Size == 0 || len(r.Files) != 3 {
			t.Errorf("listed: %+v", r)
		}
	}
	if code, out, _ := cairn(t, "embed", "list", "--home", home); code != 0 || !strings.Contains(out, "all-MiniLM-L6-v2") ||
		!strings.Contains(out, list[0].Files[0].SHA256) {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, named := range []string{"small", from} {
		code, out, stderr := cairn(t, "embed", "test", named, "--home", home, "--json")
		var tried model.TestResult
		if err := json.Unmarshal([]byte(out), &tried); code != 0 || err != nil || tried.Dim != 64 || len(tried.Nearest) != 5 ||
			tried.Nearest[0].Cosine < tried.Nearest[4].Cosine || tried.TextsSecond <= 0 {
			t.Errorf("%s: exit %d, %v: %s%s", named, code, err, out, stderr)
		}
	}
	for _, args := range [][]string{{"embed", "fetch", "nonesuch"}, {"embed", "fetch", "small", "--mirror", "ftp://x"}} {
		if code, _, stderr := cairn(t, args...); code != cli.ExitUsage {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
}

// TestDevEmbeds checks that a dev node embeds memories with the given model.
func TestDevEmbeds(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	home := filepath.Join(t.TempDir(), "h")
	cairntest.StartDevIn(t, home, "--embed", berttest.Small().Write(t))
	if out, code := cairntest.Run(t, "remember", "the violin is in the attic", "--home", home); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	type state struct {
		Embedder string
		Done, Of int
	}
	is, code := cairntest.RunForJSON[state](t, "embed", "use", "default", "--home", home, "--json")
	if code != 0 || !strings.HasPrefix(is.Embedder, "bert/") || !strings.HasSuffix(is.Embedder, "(64 dimensions)") || is.Of != 1 {
		t.Errorf("exit %d, %+v", code, is)
	}
}

// TestEmbedUse changes a database between the models in the home of a running node, back to the built-in one and to
// none, and cancels a change. A model that the node lacks must be rejected without a change.
func TestEmbedUse(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	home, other := filepath.Join(t.TempDir(), "home"), berttest.Small()
	other.CLS = true
	elsewhere := other.Write(t)
	if err := os.MkdirAll(filepath.Join(home, "models"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(home, "models", "first"), os.DirFS(berttest.Small().Write(t))); err != nil {
		t.Fatal(err)
	}
	cairntest.StartDevIn(t, home)
	stored := 0
	use := func(args ...string) (is api.EmbeddingAnswer) {
		t.Helper()
		for range 3 {
			stored++
			if out, code := cairntest.Run(t, "remember", fmt.Sprintf("the violin is in box %d", stored), "--home", home); code != 0 {
				t.Fatalf("exit %d: %s", code, out)
			}
		}
		is, code := cairntest.RunForJSON[api.EmbeddingAnswer](t,
			append([]string{"embed", "use", "default", "--home", home, "--json"}, args...)...)
		if code != 0 || is.ChangesTo != nil || is.Missing != 0 {
			t.Errorf("%v: exit %d, %+v", args, code, is)
		}
		return is
	}
	refused := func(what, hint string, args ...string) {
		t.Helper()
		if code, _, stderr := cairn(t, append([]string{"embed", "use", "default", "--home", home}, args...)...); code == 0 ||
			!strings.Contains(stderr, hint) {
			t.Errorf("%s: exit %d, %s", what, code, stderr)
		}
	}
	refused("a node that is configured with no model", "--embed")
	refused("a model that the node does not have", "it has first, builtin", elsewhere)
	refused("nothing to end", "nothing to end", "--cancel")
	for _, model := range []string{filepath.Join(home, "models", "first"), "builtin"} {
		if is := use(model); is.Done != uint64(stored) || is.Of != uint64(stored) {
			t.Errorf("%s: %+v", model, is)
		}
	}
	if err := os.CopyFS(filepath.Join(home, "models", "second"), os.DirFS(elsewhere)); err != nil {
		t.Fatal(err)
	}
	use(elsewhere) // while the node runs
	if is := use("none"); is.Embedder == nil || *is.Embedder != "none" || is.Done != 0 {
		t.Errorf("none: %+v", is)
	}
	if code, out, stderr := cairn(t, "embed", "use", "default", "builtin", "--home", home); code != 0 ||
		!strings.Contains(out, fmt.Sprintf("%d of %d", stored, stored)) {
		t.Errorf("from none: exit %d, %s%s", code, out, stderr)
	}
}
