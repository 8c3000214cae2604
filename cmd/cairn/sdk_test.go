package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestSDKsSurviveTheLeader runs the TypeScript and Python clients, with the Python adapters, on a cluster whose
// followers do not forward writes, and kills the leader during a loop of writes. Every acknowledged write must be
// stored exactly once.
func TestSDKsSurviveTheLeader(t *testing.T) {
	suite.Full(t)
	suite.NotShort(t, "other programs, in which the detector sees nothing")
	nodes, token := configureThree(t, t.TempDir(), shortElection)
	for _, p := range nodes {
		p.Env = append(p.Env, "CAIRN_SERVER_FORWARD_WRITES=false")
	}
	startAll(t, nodes, 0, 1, 2)
	for _, sdk := range []struct{ folder, program, script string }{{"typescript", "node", "test/cluster.js"},
		{"python", "python3", "test/cluster.py"},
		{"python", "python3", "test/adapters.py"}} {
		t.Run(sdk.folder+"/"+sdk.script, func(t *testing.T) {
			if _, err := exec.LookPath(sdk.program); err != nil {
				t.Skipf("%s is not installed: the client is not tried", sdk.program)
			}
			dir, err := filepath.Abs(filepath.Join(repositoryFromCmd, "wire", "client", sdk.folder))
			if err != nil {
				t.Fatal(err)
			}
			args := []string{sdk.script}
			for i := range nodes { // list a follower first
				args = append(args, nodes[(leaderOf(t, nodes)+1+i)%len(nodes)].Line.HTTP)
			}
			c := exec.CommandContext(suite.Context(t), sdk.program, args...)
			c.Dir, c.Env = dir, append(os.Environ(), "CAIRN_TOKEN="+token, "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
			acked, dead := runSDK(t, c, nodes)
			if dead == nil || len(acked) == 0 {
				t.Fatalf("the leader was killed: %t; %d writes were acknowledged", dead != nil, len(acked))
			}
			sameState(t, nodes)
			for _, p := range nodes {
				checkExport(t, p, token, acked)
			}
		})
	}
}

// runSDK runs a script, kills the leader when the script requests it, and starts it again after the script. It
// returns the acknowledged writes.
func runSDK(t *testing.T, c *exec.Cmd, nodes []*cairntest.Node) (acked map[string]string, dead *cairntest.Node) {
	t.Helper()
	var output strings.Builder
	c.Stderr = &output
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if lines.Text() == "kill" {
			dead = nodes[leaderOf(t, nodes)]
			dead.Kill()
		} else if err := json.Unmarshal(lines.Bytes(), &acked); err != nil {
			t.Errorf("it printed %q: %v", lines.Text(), err)
		}
	}
	err = c.Wait()
	if dead != nil {
		dead.Launch()()
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, &output)
	}
	return acked, dead
}

// TestSDKAdapters checks that the adapters of the TypeScript client (a store for LangGraph, a session for OpenAI's
// agents, the files of Anthropic's memory tool, and the tools and middleware of the AI SDK) behave like the packages'
// own implementations and have their types, while the leader of three nodes is killed.
func TestSDKAdapters(t *testing.T) {
	suite.Full(t)
	suite.NotShort(t, "other programs, in which the detector sees nothing")
	if os.Getenv("CAIRN_NPM") == "" {
		t.Skip("CAIRN_NPM is not set: packages are fetched from npm only where that is wanted")
	}
	source, err := filepath.Abs(filepath.Join(repositoryFromCmd, "wire", "client", "typescript"))
	if err == nil {
		err = exec.Command("npm", "--version").Run()
	}
	if err != nil {
		t.Skipf("npm is not installed: the adapters are not tried (%v)", err)
	}
	dir := t.TempDir()
	for _, from := range []string{filepath.Join(source, "test"), filepath.Join(repositoryFromCmd, "deploy", "examples")} { // type-check the examples as well
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		c := exec.CommandContext(suite.Context(t), args[0], args[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	for _, args := range [][]string{
		{"npm", "init", "--yes", "--init-type", "module"},
		{"npm", "pack", "--pack-destination", dir, source},
		{"npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "./cairn-client-0.1.0.tgz", "typescript@5.9.3", "@types/node@20",
			"@langchain/langgraph-checkpoint@1.2.2", "@langchain/core@1.4.0", "@openai/agents-core@0.20.0", "zod@4",
			"@anthropic-ai/sdk@1.14.0", "ai@6.0.326"},
		{"npm", "exec", "tsc", "--", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext",
			"--allowJs", "--checkJs", "adapters.mts", "agent.mjs",
			"webhook.mjs"},
	} {
		run(args...)
	}
	nodes, token := configureThree(t, t.TempDir(), shortElection)
	startAll(t, nodes, 0, 1, 2)
	const newer = "ai@7.0.173"
	for _, script := range []string{"langgraph", "openai", "anthropic", "ai", newer} {
		t.Run(script, func(t *testing.T) {
			if script == newer {
				run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", newer)
			}
			name, _, _ := strings.Cut(script, "@")
			args := []string{name + ".js"}
			for i := range nodes { // list a follower first
				args = append(args, nodes[(leaderOf(t, nodes)+1+i)%len(nodes)].Line.HTTP)
			}
			c := exec.CommandContext(suite.Context(t), "node", args...)
			c.Dir, c.Env = dir, append(os.Environ(), "CAIRN_TOKEN="+token)
			_, dead := runSDK(t, c, nodes)
			if dead == nil {
				t.Fatal("it did not have the leader killed")
			}
			sameState(t, nodes)
		})
	}
}
