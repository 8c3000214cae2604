package stringd_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/local/stringd/inbox"
)

// TestAFullInbox: a full inbox removes acknowledged events, the oldest first, but never pending ones: then the sender
// gets an error.
func TestAFullInbox(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	path := d.hook("GET")
	if err := os.MkdirAll(d.home("events"), 0o700); err != nil {
		t.Fatal(err)
	}
	id := func(i int) string { return fmt.Sprintf("evt_00%06d_x", i) }
	there := func(i int) bool { _, err := os.Stat(d.home("events", id(i)+".json")); return err == nil }
	for i := range inbox.Max {
		event := fmt.Sprintf(`{"id":%q,"agentId":"a","receivedAt":"2026-01-01T00:00:00.000Z","source":"local-webhook","text":"t","status":"pending"}`, id(i))
		if err := os.WriteFile(d.home("events", id(i)+".json"), []byte(event), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if a := d.do("POST", path, "one more"); a.status != 429 ||
			a.body != `{"error":"Agent a has 10000 pending events: it has to acknowledge or clear some"}` {
			t.Fatalf("got %d %s", a.status, a.body)
		}
	}
	// A rejection reads only the modification time of the directory. If the time has changed, as when a user removes
	// a file, the directory is listed again.
	dir, err := os.Stat(d.home("events"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.home("events", id(9)+".json")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at     time.Time
		status int
	}{{dir.ModTime(), 429}, {dir.ModTime().Add(time.Second), 202}, {time.Now(), 429}} {
		if err := os.Chtimes(d.home("events"), c.at, c.at); err != nil {
			t.Fatal(err)
		}
		if a := d.do("POST", path, "one more"); a.status != c.status {
			t.Errorf("got %d %s, want %d", a.status, a.body, c.status)
		}
	}
	for _, i := range []int{3, 5} {
		d.ok("main", "/events.ack "+id(i))
	}
	for range 2 {
		if a := d.do("POST", path, "one more"); a.status != 202 {
			t.Fatalf("got %d %s", a.status, a.body)
		}
	}
	if there(3) || there(5) || !there(0) || !there(4) || !there(inbox.Max-1) {
		t.Error("other events made room than those that were dealt with")
	}
	if a := d.do("POST", path, "one more"); a.status != 429 {
		t.Errorf("got %d %s", a.status, a.body)
	}
	has(t, d.ok("main", "/events.clear --all"), "Cleared 10000 event(s)")
	if a := d.do("POST", path, "one more"); a.status != 202 {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

// TestAnUnreadableEventIsLogged: an unreadable event is logged once, without its content.
func TestAnUnreadableEventIsLogged(t *testing.T) {
	t.Parallel()
	var log logged
	d := start(t, func(c *stringd.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	if a := d.do("POST", d.hook("GET"), "whole"); a.status != 202 {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	for name, text := range map[string]string{"evt_1_torn.json": `{"id":"evt_1_torn","text":"secret`,
		"evt_2_other.json": `{"id":"evt_3_secret"}`, "notes.json": "secret"} {
		if err := os.WriteFile(d.home("events", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		has(t, d.ok("main", "/events"), "## Pending events (1)")
	}
	said := log.String()
	for _, id := range []string{"evt_1_torn", "evt_2_other"} {
		if strings.Count(said, `agent=a event=`+id+" ") != 1 {
			t.Errorf("%s is not there once: %s", id, said)
		}
	}
	if strings.Contains(said, "secret") || strings.Contains(said, "notes") {
		t.Errorf("logged: %s", said)
	}
}
