package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// stringExec runs one command through the stringd surface of a node, for the agent e2e.
func stringExec(t testing.TB, p *cairntest.Node, cmd string) (content string, ok bool) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"cmd": cmd, "topic": "main"})
	if err != nil {
		t.Fatal(err)
	}
	return stringPost(t, p, "/exec", string(body))
}

func stringPost(t testing.TB, p *cairntest.Node, path, body string) (content string, ok bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.Line.String+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Agent-Id", "e2e")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), strings.Contains(string(b), `"ok":true`)
}

// stringDo runs a command, again while no node leads or the answer is late: a busy machine may elect at any time.
func stringDo(t testing.TB, p *cairntest.Node, cmd string) string {
	t.Helper()
	for begin := time.Now(); ; rest(t.Context(), 20*time.Millisecond) {
		got, ok := stringExec(t, p, cmd)
		if ok {
			return got
		}
		later := slices.ContainsFunc([]string{"NO_LEADER", "READONLY", "TIMEOUT"}, func(code string) bool { return strings.Contains(got, `"`+code+`"`) })
		if !later || time.Since(begin) > time.Minute {
			t.Fatalf("%s: %s", cmd, got)
		}
	}
}

// TestStringOnEveryNode: what an agent remembers on a follower is found there at once, and on the others at that index.
// Without a quorum a write is refused for that, not because its time was up, and reads go on.
func TestStringOnEveryNode(t *testing.T) {
	t.Parallel()
	nodes, _ := startThree(t, 0, 1, 2)
	for _, p := range nodes {
		if got, _ := stringPost(t, p, "/agents", `{"agent_id":"e2e"}`); !strings.Contains(got, `"agent_id":"e2e"`) {
			t.Fatalf("register: %s", got)
		}
	}
	leader := leaderOf(t, nodes)
	follower := nodes[(leader+1)%3]
	for i := range 20 {
		text := fmt.Sprintf("fact%d about the lighthouse", i)
		got := stringDo(t, follower, fmt.Sprintf("/remember --json --key fact%d %s", i, text))
		if got, _ := stringExec(t, follower, fmt.Sprintf("/recall fact%d", i)); !strings.Contains(got, text) {
			t.Fatalf("not found at once: %s", got)
		}
		index := between(got, `\"index\":`, ",")
		for _, p := range nodes {
			if got := stringDo(t, p, fmt.Sprintf("/recall --after %s fact%d", index, i)); !strings.Contains(got, text) {
				t.Fatalf("not found on another node at index %s: %s", index, got)
			}
		}
	}
	stringDo(t, follower, "/recall --consistency leader lighthouse")
	for i, text := range []string{"Alice lives in Lisbon.", "Alice lives in Berlin.", "Bob asked for the quarterly report on Thursday.", "Note that Bob asked for the quarterly report on Thursday."} {
		stringDo(t, follower, fmt.Sprintf("/remember --key thought%d %s", i, text))
	}
	if got := stringDo(t, follower, "/think --json"); !strings.Contains(got, `\"merged\":1,`) || !strings.Contains(got, `\"conflicts\":1,`) {
		t.Errorf("think on a follower: %s", got)
	}
	var said string
	if !cairntest.Eventually(func() bool {
		said, _ = stringExec(t, nodes[(leaderOf(t, nodes)+1)%3], "/cluster")
		return strings.Contains(said, "(follower)") && strings.Contains(said, " leader ")
	}) {
		t.Errorf("cluster: %s", said)
	}

	for i, p := range nodes {
		if p != follower {
			nodes[i].Kill()
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if got, _ := stringExec(t, follower, "/cluster"); strings.Contains(got, "leader: none") {
			break
		} else if time.Now().After(end) {
			t.Fatalf("still a leader: %s", got)
		}
	}
	if got, ok := stringExec(t, follower, "/remember without a quorum"); ok || !strings.Contains(got, "NO_LEADER") && !strings.Contains(got, "READONLY") {
		t.Errorf("a write without a quorum: %s", got)
	}
	if got, ok := stringExec(t, follower, "/recall fact7"); !ok || !strings.Contains(got, "fact7 about the lighthouse") {
		t.Errorf("a read without a quorum: %s", got)
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return strings.Trim(s, "} \"\\\n")
}

// TestStringInDev: dev writes below its home only, says where the surface is, and ends within five seconds with a shell running.
func TestStringInDev(t *testing.T) {
	t.Parallel()
	p, home := cairntest.StartDev(t)
	if got, _ := stringPost(t, p, "/agents", `{"agent_id":"e2e"}`); !strings.Contains(got, filepath.Join(home, "run", "string", "agents", "e2e")) {
		t.Errorf("home: %s", got)
	}
	if _, err := os.Stat(filepath.Join(home, "run", "string", "daemon", "agents.json")); err != nil {
		t.Error(err)
	}
	body := `{"cmd":"sleep 1000 & echo $!","topic":"bash:x"}`
	if got, ok := stringPost(t, p, "/exec", body); !ok {
		t.Errorf("shell: %s", got)
	}
	if _, err := p.Stop(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, p.Log)
	}
}
