package dialect

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestNoRedirectTakesTheToken: `cairn mcp` does not send the token to the target of a redirect.
func TestNoRedirectTakesTheToken(t *testing.T) {
	t.Parallel()
	var took atomic.Value
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { took.Store(r.Header.Get("Authorization")) }))
	defer elsewhere.Close()
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer gateway.Close()
	err := serveMCP(t.Context(), &cli.Target{Endpoints: []string{gateway.URL}, TokenText: "secret"}, "core")
	if got := took.Load(); err == nil || got != nil {
		t.Errorf("the other server got %q: %v", got, err)
	}
}
