package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestMemoriesFromTheShell runs the commands for memories, except remember and recall, against a running node.
func TestMemoriesFromTheShell(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	_, home := cairntest.StartDev(t)
	cairn := func(want int, args ...string) string {
		t.Helper()
		out, code := cairntest.Run(t, append(args, "--home", home)...)
		if code != want {
			t.Fatalf("cairn %q: exit %d, want %d: %s", args, code, want, out)
		}
		return out
	}
	says := func(out string, texts ...string) {
		t.Helper()
		for _, s := range texts {
			if !strings.Contains(out, s) {
				t.Errorf("no %q in\n%s", s, out)
			}
		}
	}
	session := strings.TrimSpace(cairn(0, "sessions", "start", "--namespace", "work", "--client-id", "shell"))
	rid := strings.TrimSpace(cairn(0, "remember", "Alice leads the payments team", "--namespace", "work"))
	cairn(0, "remember", "Carol drinks tea")
	edge := strings.TrimSpace(cairn(0, "relate", "Alice", "leads", "payments"))

	says(cairn(0, "get", rid), "text", "Alice leads the payments team", "namespace", "work", session)
	cairn(cli.ExitFailed, "get", "none")
	says(cairn(0, "list", "--namespace", "work"), "RID", "CREATED AT", rid, "Alice leads")
	if out := cairn(0, "list", "--namespace", "work"); strings.Contains(out, "Carol") || strings.Count(out, "\n") != 2 {
		t.Errorf("more than the namespace: %s", out)
	}
	var page struct{ Items []struct{ RID string } }
	if err := json.Unmarshal([]byte(cairn(0, "list", "--namespace", "work", "--json")), &page); err != nil || len(page.Items) != 1 ||
		page.Items[0].RID != rid {
		t.Errorf("%+v, %v", page, err)
	}
	cairn(0, "put", "/tea", "Carol drinks green tea")
	says(cairn(0, "keys", "--full"), "MEMORY", "Carol drinks green tea")
	says(cairn(0, "correct", rid, "Bob leads the payments team", "--reason", "Alice moved on", "--importance", "0.9"), "revision", "1")
	says(cairn(0, "history", rid), "REASON", "Alice moved on", "Alice leads the payments team")
	says(cairn(0, "list", "--limit", "1", "--namespace", "work"), "Bob leads")
	says(cairn(0, "undo", rid, "--key", "once", "--expected-revision", "1"), "restored", "0", "Alice leads the payments team")
	says(cairn(0, "undo", rid, "--key", "once", "--expected-revision", "1"), "Alice leads the payments team")
	says(cairn(0, "get", rid), "Alice leads the payments team")
	fails := func(args ...string) string {
		t.Helper()
		out, err := cairntest.Command(t.Context(), append(args, "--home", home)...).CombinedOutput()
		if err == nil {
			t.Errorf("cairn %q does not fail: %s", args, out)
		}
		return string(out)
	}
	says(fails("undo", rid, "--expected-revision", "1"), "memory "+rid+" is at revision 2, the request expects revision 1")
	says(fails("get", "none"), "no such memory: none\n")
	says(fails("read", "/none"), "no memory of namespace default has the key: /none\n")
	says(fails("forget", "none"), "there is nothing with this id or key: none\n")
	says(fails("undo", rid, "--revision", "7"), "no earlier revision 7: it has revisions 0 to 1")
	says(cairn(0, "undo", rid, "--revision", "1"), "Bob leads the payments team")
	says(cairn(0, "split", rid[:len(rid)-2], "Bob leads payments.", "Alice left.", "--reason", "two facts"), "rids")
	says(cairn(0, "undo", rid), "recalled_again", "Bob leads the payments team")
	other := strings.TrimSpace(cairn(0, "remember", "Bob leads the team of payments", "--namespace", "work"))
	says(cairn(0, "merge", "#1", other, "--text", "Bob leads payments"), "merged", other)
	says(cairn(0, "undo", other), "recalled_again", "Bob leads the team of payments")
	says(cairn(0, "move", other, "--to", "elsewhere"), "moved", "1", "elsewhere")
	cairn(0, "forget", other)
	says(cairn(0, "stats"), "active_memories", "2")
	if out := cairn(0, "list", "--namespace", "work", "-q"); out != rid+"\n" {
		t.Errorf("ids alone: %q", out)
	}
	if out := cairn(0, "list", "--order", "asc", "-q"); !strings.HasPrefix(out, rid) {
		t.Errorf("not the oldest first: %q", out)
	}
	says(cairn(0, "list", "--after", "1h", "--entity", "Carol"), "Carol drinks tea")
	if out := cairn(0, "list", "--before", "1h", "--entity", "Carol", "--json"); strings.Contains(out, "tea") {
		t.Errorf("the memory is no hour old: %s", out)
	}
	says(cairn(0, "list", "--around", rid), rid, "Bob leads")
	says(fails("list", "--around", rid, "--sort", "importance"), "--sort does not go with --around")

	says(cairn(0, "edges", "alice"), edge, "leads", "payments")
	cairn(0, "unrelate", edge)
	cairn(cli.ExitFailed, "unrelate", edge)
	cairn(0, "claim", "Ada", "born_in", "London")
	cairn(0, "claim", "Ada", "born_in", "Paris")
	says(cairn(0, "claims", "Ada"), "London", "Paris")
	says(cairn(0, "entities"), "NAME", "Ada")
	var steps []string
	for i := range 25 {
		steps = append(steps, fmt.Sprintf(`{"op":"put","key":"/cases/%d","memory":{"text":"Case %d waits"}}`, i, i))
	}
	cairn(0, "batch", "["+strings.Join(steps, ",")+"]")
	var thought struct{ Read, Remaining int }
	if err := json.Unmarshal([]byte(cairn(0, "think", "--max-ms", "1", "--json")), &thought); err != nil || thought.Remaining != 0 ||
		thought.Read < 2*25 {
		t.Errorf("rounds until all is read: %+v, %v", thought, err)
	}
	says(cairn(0, "think"), "duration_ms")
	cairn(0, "triggers", "list")
	for _, verb := range []string{"acknowledge", "act", "dismiss"} {
		says(fails("triggers", verb, "none"), "trigger")
	}
	cairn(0, "gaps")
	says(cairn(0, "sessions", "list", "--namespace", "work"), session, "active")
	says(cairn(0, "sessions", "end", session, "--summary", "done"), "memory_count")
	says(cairn(0, "sessions", "show", session), "Bob leads")
	says(cairn(0, "sessions", "list"), session)
	cairn(cli.ExitFailed, "list", "--db", "none")
	cairn(cli.ExitFailed, "conflicts", "resolve", "none", "keep_a")

	cairn(0, "put", "/prefs/editor/theme", "Ada likes the dark theme", "--ttl", "30d")
	cairn(0, "rename", "/prefs/editor/theme", "/prefs/editor/colours")
	says(cairn(0, "read", "/prefs/editor/colours"), "Ada likes the dark theme")
	cairn(0, "delete", "/prefs/editor/colours")
	cairn(cli.ExitFailed, "read", "/prefs/editor/colours")
	says(cairn(0, "get", rid[:20]), rid)
	cairn(cli.ExitFailed, "get", rid[:3])
	cairn(0, "forget", "#1")
	gone := strings.TrimSpace(cairn(0, "remember", "Zoe's number is 555 0100"))
	says(fails("forget", gone[:len(gone)-2], "--for-good"), "555 0100", "nothing was erased")
	says(cairn(0, "forget", gone, "--for-good", "--yes"), "erased 1 memory, 0 relations and 0 claims at record", gone)
	cairn(0, "relate", "Zelda", "owns", "the boat")
	says(cairn(0, "forget", "--for-good", "--entity", "Zelda", "--yes"), "erased 0 memories, 1 relation and 0 claims at record")
	says(cairn(0, "erased", gone), "signature")
	says(fails("remember", "zoe's number  is 555 0100"), "erased for good")
	fence := strings.TrimSpace(cairn(0, "remember", "The garden fence is green"))
	says(cairn(0, "remember", "The garden fence is green now", "--near", "--json"), fence)
	says(fails("purge", "--before", "+1h"), "nothing was done")
	says(cairn(0, "purge", "--before", "+1h", "--yes"), "purged", "still_held_by")
	says(cairn(0, "stats"), "active_memories", "0")
}

// TestWatchFromTheShell checks that `cairn watch` prints memories as they are stored, also after the node was down.
func TestWatchFromTheShell(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p, home := cairntest.StartDev(t)
	ctx := suite.Context(t)
	c := cairntest.Command(ctx, "watch", "--type", "stored", "--json", "--home", home)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	c.Stderr = &told
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			var e struct {
				Event string
				Data  struct{ ID, At string }
			}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatalf("%s: %v", lines.Bytes(), err)
			}
			if _, err := time.Parse(time.RFC3339Nano, e.Data.At); err != nil && e.Event == "stored" {
				t.Errorf("%s: %v", lines.Bytes(), err)
			}
			if want == "" && e.Event == "subscribed" || want != "" && e.Data.ID == want {
				return
			}
		}
		_ = c.Wait()
		t.Fatalf("the stream ended before %q: %s", want, &told)
	}
	remember := func(text string) string {
		t.Helper()
		rid, code := cairntest.Run(t, "remember", text, "--home", home)
		if code != 0 {
			t.Fatal("not stored")
		}
		return strings.TrimSpace(rid)
	}
	next("")
	next(remember("seen at once"))
	p.Kill()
	p.Launch()()
	next(remember("seen after the node came back"))
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("it does not end well: %v", err)
	}
}
