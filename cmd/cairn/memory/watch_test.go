package memory

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestAWatchWithoutAnOutputEnds: an error of the output ends a watch. It is not treated as a lost connection.
func TestAWatchWithoutAnOutputEnds(t *testing.T) {
	t.Parallel()
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "event: subscribed\ndata: {\"index\":40}\n\n")
	}))
	defer gateway.Close()
	done := make(chan error, 1)
	go func() {
		done <- watch(t.Context(), &cli.Streams{Out: full{}, Err: io.Discard},
			&cli.Target{Endpoints: []string{gateway.URL}, TokenText: "x", Timeout: time.Minute}, "/v1/events")
	}()
	select {
	case err := <-done:
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("it says %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on")
	}
}

// TestLargeNumbersAreNotCut: numbers from 1000 on are printed with all digits.
func TestLargeNumbersAreNotCut(t *testing.T) {
	t.Parallel()
	for _, v := range list {
		if v.use != "get RID" {
			continue
		}
		fields, shapes := v.shownFields()
		for number, want := range map[string]string{"604800": "604800", "1234567.5": "1234567.5", "0.123456": "0.123", "0": "0"} {
			var one map[string]any
			if err := decode([]byte(`{"half_life":`+number+`}`), &one); err != nil {
				t.Fatal(err)
			}
			if got := formatCell(fields.Named("half_life"), one["half_life"], shapes); got != want {
				t.Errorf("%s is shown as %s", number, got)
			}
		}
	}
}
