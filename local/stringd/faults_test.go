package stringd_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/local/stringd"
)

// TestPurgeBeforeTheFirstSecond: a purge before the epoch or an earlier time removes nothing.
func TestPurgeBeforeTheFirstSecond(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.ok("main", "/remember the sky is blue")
	for _, before := range []string{"0", "1970-01-01", "1970-01-01T00:00:00Z", "1969-12-31"} {
		has(t, d.ok("main", "/purge --before "+before), "Would purge 0.")
		has(t, d.ok("main", "/purge --before "+before+" --yes"), "Purged 0")
	}
	has(t, d.ok("main", "/recent"), "the sky is blue")
}

// TestAFailedWebhookDoesNotLogItsToken: a reader of the log must not be able to send events.
func TestAFailedWebhookDoesNotLogItsToken(t *testing.T) {
	t.Parallel()
	var log logged
	d := start(t, func(c *stringd.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	path := d.hook("GET")
	if err := os.WriteFile(d.home("events"), nil, 0o600); err != nil { // a file in place of the inbox directory
		t.Fatal(err)
	}
	if a := d.do("POST", path, "text"); a.status != 500 {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	if said := log.String(); !strings.Contains(said, "request failed") || strings.Contains(said, strings.TrimPrefix(path, "/webhook/")) {
		t.Errorf("logged: %s", said)
	}
}

// TestVariablesBesideOthers: setting a persistent variable keeps values of other types, and variables that other
// topics set at the same time.
func TestVariablesBesideOthers(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	if err := os.WriteFile(d.home("config.json"), []byte(`{"theme":"dark","env":{"PORT":8080,"LIST":["a"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const topics = 20
	var all sync.WaitGroup
	for i := range topics {
		all.Go(func() { d.exec(fmt.Sprint("t", i), fmt.Sprintf("/set $V%d = x", i)) })
	}
	all.Wait()
	b, err := os.ReadFile(d.home("config.json"))
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(b), `"PORT": 8080`, `"LIST": [`, `"theme": "dark"`)
	for i := range topics {
		has(t, string(b), fmt.Sprintf(`"V%d": "x"`, i))
	}
}
