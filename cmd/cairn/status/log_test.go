package status

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// TestAFollowedLogIsWhole: if a page ends inside a record, the next page prints the record's other lines, each once.
func TestAFollowedLogIsWhole(t *testing.T) {
	t.Parallel()
	var log []api.LogLine
	for index, entries := range []int{0, 1, 1, 30, 1} {
		for i := range entries {
			log = append(log, api.LogLine{Index: oplog.Index(index), Number: i})
		}
	}
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.FormValue("from"))
		limit, _ := strconv.Atoi(r.FormValue("limit"))
		for _, l := range log {
			if l.Index < oplog.Index(from) || limit == 0 {
				continue
			}
			limit--
			if err := json.NewEncoder(w).Encode(l); err != nil {
				t.Error(err)
			}
		}
	}))
	defer gateway.Close()
	var out strings.Builder
	p := logPager{s: &cli.Streams{Out: &out},
		t: &cli.Target{Endpoints: []string{gateway.URL}, TokenText: "x", Timeout: time.Minute}, from: 1}
	for _, limit := range []int{20, followLines, followLines} {
		if err := p.page(t.Context(), limit, true); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(log) || !strings.HasPrefix(lines[18], "3.16 ") || !strings.HasPrefix(lines[31], "3.29 ") ||
		!strings.HasPrefix(lines[32], "4.0 ") {
		t.Errorf("%d lines of %d:\n%s", len(lines), len(log), &out)
	}
}
