package stringd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

func TestAgentsSurviveARestart(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	shared := filepath.Join(d.dir, "shared")
	d.do("POST", "/agents", `{"agent_id":"b","allowed_paths":[" `+shared+` ",""]}`)
	token := d.hook("GET")
	before := d.do("GET", "/agents", "").body
	has(t, before, `"allowedPaths":["`+shared+`"]`)
	if strings.Contains(before, "wh_") {
		t.Error("the list shows a token")
	}
	file := filepath.Join(d.dir, "daemon", "agents.json")
	b, err := os.ReadFile(file)
	if err != nil || !bytes.HasSuffix(b, []byte("]\n")) || !bytes.Contains(b, []byte("\n  {\n    \"id\": \"a\",\n")) {
		t.Errorf("file: %s %v", b, err)
	}
	if _, err := stringd.Listen(config(t, d.dir)); err == nil || !strings.Contains(err.Error(), "in use by another daemon") {
		t.Errorf("a second daemon: %v", err)
	}
	d.s.Close()
	if err := os.WriteFile(file, bytes.Replace(b, []byte(`"id": "b",`), []byte(`"id": "b", "later": {"x": 1},`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	e := restart(t, d.dir)
	if after := e.do("GET", "/agents", "").body; after != before {
		t.Errorf("got %s, want %s", after, before)
	}
	if a := e.do("POST", token, "x"); a.status != 202 {
		t.Errorf("the token: %d", a.status)
	}
	e.do("POST", "/agents", `{"agent_id":"b","allowed_paths":[]}`)
	b, _ = os.ReadFile(file)
	has(t, string(b), `"later"`)
	e.do("DELETE", "/agents/b", "")
	e.s.Close()
	if e = restart(t, d.dir); strings.Contains(e.do("GET", "/agents", "").body, `"b"`) {
		t.Error("a deleted agent came back")
	}
}

func config(t testing.TB, dir string) stringd.Config {
	return stringd.Config{Addr: "127.0.0.1:0", Data: filepath.Join(dir, "daemon"), Agents: filepath.Join(dir, "agents"),
		Home: dir, Memory: api.At{Host: newStorage(t), Also: []api.Scope{api.Files}}}
}

func restart(t testing.TB, dir string) *daemon {
	t.Helper()
	s, err := stringd.Listen(config(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &daemon{t: t, s: s, url: "http://" + s.Addr(), dir: dir, http: &http.Client{}}
}

func TestCorruptAgentsAreMovedAside(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"torn": `[{"id":"a","ho`, "shape": `{"a":1}`, "record": `[{"id":""}]`, "empty": ""} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "daemon"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "daemon", "agents.json"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			d := restart(t, dir)
			if got := d.do("GET", "/agents", "").body; got != `{"agents":[]}` {
				t.Errorf("got %s", got)
			}
			kept, err := filepath.Glob(filepath.Join(dir, "daemon", "agents.json.corrupt-*"))
			if err != nil || len(kept) != 1 {
				t.Fatalf("%v %v", kept, err)
			}
			if b, err := os.ReadFile(kept[0]); err != nil || string(b) != content {
				t.Errorf("kept %q %v", b, err)
			}
		})
	}
}

func TestNonLoopbackIsRefused(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "10.0.0.1:3923"} {
		cfg := config(t, t.TempDir())
		cfg.Addr = addr
		if s, err := stringd.Listen(cfg); err == nil {
			s.Close()
			t.Errorf("%s was served", addr)
		}
	}
}

// asDaemon is an environment variable that makes the test binary a daemon. It registers agents in the given directory
// until it is killed.
const asDaemon = "STRINGD_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asDaemon); dir != "" {
		registerForEver(dir)
		return
	}
	os.Exit(m.Run())
}

// registerForEver registers agents and writes the number of each acknowledged one to stdout.
func registerForEver(dir string) {
	s, err := stringd.Listen(stringd.Config{Addr: "127.0.0.1:0", Data: filepath.Join(dir, "daemon"),
		Agents: filepath.Join(dir, "agents"), Memory: api.At{Host: (*storage)(nil)}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%d-%d", os.Getpid(), i)
		res, err := http.Post("http://"+s.Addr()+"/agents", "application/json", strings.NewReader(`{"agent_id":"`+name+`"}`))
		if err != nil || res.StatusCode != 200 {
			os.Exit(1)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		fmt.Println(name)
		if i > 2 { // removes an old agent, so that the file stays small
			res, err := http.NewRequest("DELETE", "http://"+s.Addr()+"/agents/"+fmt.Sprintf("%d-%d", os.Getpid(), i-1), nil)
			if err == nil {
				if r, err := http.DefaultClient.Do(res); err == nil {
					r.Body.Close()
				}
			}
		}
	}
}

// TestAgentsSurviveKills kills the daemon at a hundred moments. The file is always complete, and contains the last
// acknowledged agent.
func TestAgentsSurviveKills(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	rounds := 100 // none may lose an acknowledged agent
	if testing.Short() {
		rounds = 10
		t.Log("short: 10 rounds of 100")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "daemon", "agents.json")
	for round := range rounds {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), asDaemon+"="+dir)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1<<16)
		n, said := 0, ""
		for n < 1+round%7*12 { // a different moment each round
			k, err := out.Read(buf)
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			n += k
			said += string(buf[:k])
		}
		c.Process.Kill()
		rest, _ := io.ReadAll(out)
		said += string(rest)
		c.Wait()
		b, err := os.ReadFile(file)
		var agents []struct{ ID string }
		if err == nil {
			err = json.Unmarshal(b, &agents)
		}
		if err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, b)
		}
		acked := strings.Split(strings.TrimSpace(said), "\n")
		last := acked[len(acked)-1]
		if !bytes.Contains(b, []byte(`"`+last+`"`)) {
			t.Fatalf("round %d: acknowledged %s is not in\n%s", round, last, b)
		}
		if aside, _ := filepath.Glob(file + ".corrupt-*"); len(aside) > 0 {
			t.Fatalf("round %d: %v", round, aside)
		}
	}
}
