package transfer

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestAnInterruptedImportSaysHowItGoesOn: after Ctrl-C the error says what to do, not which request was cancelled.
func TestAnInterruptedImportSaysHowItGoesOn(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/import") {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		interrupt()
		<-r.Context().Done()
	}))
	t.Cleanup(srv.Close)
	var out, errs bytes.Buffer
	c := Import(&cli.Streams{In: strings.NewReader(`{"text":"a"}`), Out: &out, Err: &errs})
	c.SetArgs([]string{"--endpoints", srv.URL, "-t", "x"})
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(ctx)
	if want := "interrupted: the same command continues (0 memories and 0 relations were imported)"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
