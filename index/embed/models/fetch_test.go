package models_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/index/embed/bert/berttest"
	"github.com/cairndb/cairn/index/embed/models"
)

// smallModel returns the table entry of a small model, and the directory of its files.
func smallModel(t *testing.T) (*models.Model, string) {
	t.Helper()
	from := berttest.Small().Write(t)
	m := &models.Model{Name: "small", Repository: "test/small", Revision: "abc", Kind: "bert", Dim: 64}
	for _, name := range []string{"config.json", "tokenizer.json", "model.safetensors"} {
		raw, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(raw)
		m.Files = append(m.Files, models.File{Name: name, Size: int64(len(raw)), SHA256: hex.EncodeToString(sum[:])})
	}
	return m, from
}

// hub serves a directory as the hub does, and records the requested ranges. If serve returns true, it has answered
// the request itself.
type hub struct {
	*httptest.Server
	ranges []string
	serve  func(w http.ResponseWriter, r *http.Request, raw []byte) bool
}

func newHub(t *testing.T, from string) *hub {
	t.Helper()
	h := &hub{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/at/test/small/resolve/abc/")
		if !ok {
			http.NotFound(w, r)
			return
		}
		h.ranges = append(h.ranges, r.Header.Get("Range")) // one request at a time
		if h.serve != nil {
			raw, err := os.ReadFile(filepath.Join(from, name))
			if err != nil {
				t.Error(err)
			}
			if h.serve(w, r, raw) {
				return
			}
		}
		http.ServeFile(w, r, filepath.Join(from, name))
	}))
	t.Cleanup(h.Close)
	return h
}

// cut answers the first request for the weights with their first half.
func cut(times int) func(http.ResponseWriter, *http.Request, []byte) bool {
	return func(w http.ResponseWriter, r *http.Request, raw []byte) bool {
		if times == 0 || !strings.HasSuffix(r.URL.Path, "model.safetensors") {
			return false
		}
		times--
		w.Header().Set("Content-Length", fmt.Sprint(len(raw)))
		_, _ = w.Write(raw[:len(raw)/2]) // the server ends the connection
		return true
	}
}

func TestFetchFromAMirror(t *testing.T) {
	t.Parallel()
	m, from := smallModel(t)
	h := newHub(t, from)
	h.serve = cut(1)
	var had, got int64
	f := &models.Fetcher{Mirror: h.URL + "/at", Folder: t.TempDir(), Told: func(_ models.File, _, n int64) { got += n }}
	dir, fetched, err := f.Fetch(t.Context(), m)
	if err != nil || !fetched {
		t.Fatal(fetched, err)
	}
	half := m.Files[2].Size / 2
	if want := []string{"", "", "", fmt.Sprintf("bytes=%d-", half)}; !slices.Equal(h.ranges, want) {
		t.Errorf("asked for %q, want %q", h.ranges, want)
	}
	if got != m.Size() {
		t.Errorf("told of %d bytes beside %d, want %d", got, had, m.Size())
	}
	if e, err := embed.OpenDir(dir); err != nil || e.Identity().Dim != 64 || e.Identity().Name != "bert" {
		t.Errorf("what was fetched does not open: %v", err)
	}
	if _, err := os.Stat(f.Part(m)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of what is not whole stays: %v", err)
	}
	asked := len(h.ranges)
	if _, fetched, err := f.Fetch(t.Context(), m); fetched || err != nil || len(h.ranges) != asked {
		t.Errorf("a model that is there is fetched again: %v, %v", fetched, err)
	}
}

// TestFetchGoesOnLater: a fetch continues with what an earlier one has downloaded, even if the mirror sends the whole
// file again.
func TestFetchGoesOnLater(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]bool{"with ranges": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, from := smallModel(t)
			h := newHub(t, from)
			refuse := cut(1)
			gone := false
			h.serve = func(w http.ResponseWriter, r *http.Request, raw []byte) bool {
				if refuse(w, r, raw) {
					gone = true
					return true
				}
				if gone {
					http.Error(w, "gone", http.StatusGone)
				}
				return gone
			}
			f := &models.Fetcher{Mirror: h.URL + "/at", Folder: t.TempDir()}
			if _, _, err := f.Fetch(t.Context(), m); err == nil || !strings.Contains(err.Error(), "model.safetensors: ") ||
				!strings.Contains(err.Error(), "410 Gone") {
				t.Fatal(err)
			}
			if _, err := os.Stat(f.Dir(m)); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("half a model stands in its place: %v", err)
			}
			h.ranges, h.serve = nil, nil
			if whole {
				h.serve = func(w http.ResponseWriter, r *http.Request, raw []byte) bool {
					_, _ = w.Write(raw) // whatever was requested
					return true
				}
			}
			if _, _, err := f.Fetch(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if want := []string{fmt.Sprintf("bytes=%d-", m.Files[2].Size/2)}; !slices.Equal(h.ranges, want) {
				t.Errorf("asked for %q, want %q", h.ranges, want)
			}
			if err := models.Verify(f.Dir(m), m); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFetchRefusesAnotherFile: a file with a wrong byte or a wrong length is not installed, and does not prevent a
// later fetch.
func TestFetchRefusesAnotherFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func([]byte) []byte
		says string
	}{
		"a wrong byte": {func(b []byte) []byte { b[len(b)/3] ^= 1; return b }, "its SHA-256 is "},
		"too long":     {func(b []byte) []byte { return append(b, 0) }, "bytes, want "},
		"too short":    {func(b []byte) []byte { return b[:len(b)-1] }, "bytes, want "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, from := smallModel(t)
			h := newHub(t, from)
			h.serve = func(w http.ResponseWriter, r *http.Request, raw []byte) bool {
				if strings.HasSuffix(r.URL.Path, "tokenizer.json") {
					raw = tc.edit(raw)
				}
				w.Header().Set("Content-Length", fmt.Sprint(len(raw)))
				_, _ = w.Write(raw)
				return true
			}
			f := &models.Fetcher{Mirror: h.URL + "/at", Folder: t.TempDir()}
			_, _, err := f.Fetch(t.Context(), m)
			if !errors.Is(err, models.ErrWrong) || !strings.Contains(err.Error(), "tokenizer.json: ") ||
				!strings.Contains(err.Error(), tc.says) {
				t.Fatalf("got %v", err)
			}
			if _, err := os.Stat(f.Dir(m)); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("a wrong model stands in its place: %v", err)
			}
			h.serve = nil
			if _, _, err := f.Fetch(t.Context(), m); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFetchOfNothing: an answer without a byte counts as a failed attempt, with a wait before the next.
func TestFetchOfNothing(t *testing.T) {
	t.Parallel()
	m, from := smallModel(t)
	h := newHub(t, from)
	h.serve = func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		w.(http.Flusher).Flush() // without a length
		return true
	}
	f := &models.Fetcher{Mirror: h.URL + "/at", Folder: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, err := f.Fetch(ctx, m)
	h.Close()
	if !errors.Is(err, context.DeadlineExceeded) || len(h.ranges) > 2 {
		t.Errorf("asked %d times: %v", len(h.ranges), err)
	}
}

// TestFetchPausesAfterAnotherPage: a fetch pauses after two attempts if a server in the hub's place sends a short
// page of unknown length each time.
func TestFetchPausesAfterAnotherPage(t *testing.T) {
	t.Parallel()
	m, from := smallModel(t)
	h := newHub(t, from)
	h.serve = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		_, _ = w.Write([]byte("<html>log"))
		w.(http.Flusher).Flush() // so the answer has no length
		_, _ = w.Write([]byte(" in</html>"))
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	f := &models.Fetcher{Mirror: h.URL + "/at", Folder: t.TempDir()}
	if _, _, err := f.Fetch(ctx, m); err == nil || len(h.ranges) != 2 {
		t.Errorf("%d requests at once, want 2: %v", len(h.ranges), err)
	}
}

// TestFetchByHand: files that an operator has put into the directory of an incomplete model are verified, and need no
// network.
func TestFetchByHand(t *testing.T) {
	t.Parallel()
	m, from := smallModel(t)
	f := &models.Fetcher{Mirror: "http://127.0.0.1:1", Folder: t.TempDir()}
	if err := os.CopyFS(f.Part(m), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if _, fetched, err := f.Fetch(t.Context(), m); err != nil || !fetched {
		t.Fatal(fetched, err)
	}
}

// TestKnown checks that the entries of the table have all that a fetch needs.
func TestKnown(t *testing.T) {
	for _, m := range models.Known {
		if found, ok := models.Find(m.Name); !ok || found.Name != m.Name {
			t.Errorf("%s is not found", m.Name)
		}
		if len(m.Revision) != 40 || m.Dim == 0 || m.Licence == "" || m.For == "" || m.Kind != "static" && m.Kind != "bert" ||
			len(m.Files) != 3 {
			t.Errorf("%s is not described: %+v", m.Name, m)
		}
		for _, f := range m.Files {
			if len(f.SHA256) != 64 || f.Size <= 0 {
				t.Errorf("%s: %+v", m.Name, f)
			}
		}
	}
}

// TestFetchKeepsAnotherFolder: a fetch does not replace a directory in the place of a model that is not this model,
// and the error says what to do. It replaces an empty one.
func TestFetchKeepsAnotherFolder(t *testing.T) {
	t.Parallel()
	m, from := smallModel(t)
	h := newHub(t, from)
	f := &models.Fetcher{Mirror: h.URL + "/at", Folder: t.TempDir()}
	own := filepath.Join(f.Dir(m), "config.json")
	if err := errors.Join(os.Mkdir(f.Dir(m), 0o700), os.WriteFile(own, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, _, err := f.Fetch(t.Context(), m)
	if err == nil || !strings.Contains(err.Error(), f.Dir(m)) || !strings.Contains(err.Error(), "move it away") || len(h.ranges) > 0 {
		t.Errorf("got %v after %d requests", err, len(h.ranges))
	}
	if raw, err := os.ReadFile(own); err != nil || string(raw) != "{}" {
		t.Errorf("the folder has %q, %v", raw, err)
	}
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	if _, fetched, err := f.Fetch(t.Context(), m); err != nil || !fetched {
		t.Error(fetched, err)
	}
}
