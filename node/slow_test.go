package node_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// lines is a log that tests can read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestSlowOperationsAreLogged checks that slow operations are logged with their surface and database, without texts,
// and that nothing is logged if that is off.
func TestSlowOperationsAreLogged(t *testing.T) {
	t.Parallel()
	const planted = "a phrase that was planted"
	for _, tc := range []struct {
		name string
		slow time.Duration
		want bool
	}{{"everything", time.Nanosecond, true}, {"nothing", -1, false}} {
		log := &lines{}
		c := startWith(t, 1, func(_ int, cfg *node.Config) {
			cfg.Surfaces.Slow, cfg.Logger = tc.slow, slog.New(slog.NewTextHandler(log, nil))
		})
		w := c.web(0)
		w.ok("POST", "/v1/remember", obj{"text": planted})
		w.ok("POST", "/v1/recall", obj{"query": planted})
		w.tool("recall", obj{"query": planted})
		if _, _, err := c.dial(0).Recall(t.Context(), wire.NewRecall(planted)); err != nil {
			t.Fatal(err)
		}
		dialect := api.At{Host: c.nodes[0].Host(), Surface: "sift", Database: "default"}
		if _, err := api.Search.Ask(t.Context(), dialect, &api.SearchRequest{Text: planted, K: 1}); err != nil {
			t.Fatal(err)
		}
		if tc.want { // the line is written after the answer
			suite.Eventually(t, "the last line", func() bool { return strings.Contains(log.String(), "surface=wire operation=recall") })
		}
		said := log.String()
		for _, line := range []string{"surface=http operation=remember database=default", "surface=http operation=recall",
			"surface=sift operation=search database=default", "surface=mcp operation=recall",
			"surface=wire operation=recall database=default", `msg="slow apply" records=`} {
			if strings.Contains(said, line) != tc.want {
				t.Errorf("%s: %q is logged: %t", tc.name, line, !tc.want)
			}
		}
		if strings.Contains(said, planted) {
			t.Errorf("%s: the log tells what was said", tc.name)
		}
	}
}
