package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestREADMEThreeNodes runs the README's section about three nodes with its script: it starts the nodes, queries
// them, kills one, and checks that the others continue. It changes the ports, and first makes the killed node the
// leader.
func TestREADMEThreeNodes(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../deploy/three-node/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir, base := filepath.Join(t.TempDir(), "it's a $dir"), cairntest.FreePorts(t, 3*config.PortsEach)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	output := &cairntest.LogBuffer{}
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, script, "./cluster", fmt.Sprint(base))
	bin, err := filepath.Abs(cairntest.Binary())
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "CAIRN_BIN="+bin, cairntest.AsCairn+"=1")
	c.Dir, c.Env, c.Stderr = dir, env, output
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // the script stops the nodes
	c.WaitDelay = 20 * time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = c.Wait() // the script was stopped by a signal
		if t.Failed() {
			t.Logf("the script said: %s", output)
		}
	})
	exported, printed := "", 0
	last := regexp.MustCompile(`node 3  pid \d+`)
	suite.Eventually(t, "three nodes that serve", func() bool { return last.MatchString(output.String()) })
	for _, line := range regexp.MustCompile(`(?m)^  \S.*$`).FindAllString(output.String(), -1) { // the commands as printed, in another directory
		if strings.Contains(line, "export ") {
			exported = line
			continue
		}
		c := exec.CommandContext(ctx, "bash", "-c", exported+"\n"+line)
		c.Env = append(env, "CAIRN_CONTEXTS="+os.DevNull)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		printed++
	}
	pid := regexp.MustCompile(`node 1  pid (\d+)`).FindStringSubmatch(output.String())[1]
	ports := strings.NewReplacer("7500", fmt.Sprint(base), "7501", fmt.Sprint(base+1), "7510", fmt.Sprint(base+10), "7511",
		fmt.Sprint(base+11), "7520", fmt.Sprint(base+20))
	lines := []string{"set -e"}
	killed := false
	for _, line := range indented(section(t, string(b), "Three nodes")) {
		switch {
		case strings.HasSuffix(line, "run.sh"):
			continue
		case strings.HasPrefix(line, "kill"):
			killed = true
			// on a busy machine another node may become the leader
			lines = append(lines,
				"until ./cluster/cairn status | grep '1 \\*.*Leader'; do ./cluster/cairn cluster transfer --node-id 1 || sleep 0.1; done")
			line = strings.Replace(line, "PID", pid, 1)
		}
		lines = append(lines, ports.Replace(line))
	}
	lines = append(lines,
		ports.Replace(`until ./cluster/cairn recall "who took over" --consistency linearizable --endpoints 127.0.0.1:7510,127.0.0.1:7520; do sleep 0.1; done`))
	if len(lines) < 9 || !killed || printed != 3 {
		t.Fatalf("the README's commands are %q", lines)
	}
	inTime, end := context.WithTimeout(t.Context(), 3*time.Minute)
	defer end()
	shell := exec.CommandContext(inTime, "bash", "-c", strings.Join(lines, "\n"))
	shell.Dir, shell.Env = dir, append(env, "CAIRN_CONTEXTS="+filepath.Join(dir, "contexts.json"))
	out, err := shell.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Bob is on call this week") ||
		!strings.Contains(string(out), "Carol took over from Bob") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSeveralMachinesAsPrinted runs the commands of deploy/OPERATE.md that create the configuration of a cluster on
// several machines, with the usual umask, under which new files are readable by others.
func TestSeveralMachinesAsPrinted(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../deploy/OPERATE.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(section(t, string(b), "A cluster on several machines"), "\n", " ")
	lines := []string{"set -e", "umask 022"}
	for _, m := range regexp.MustCompile("`([^`]*cairn cluster (?:secret|init) [^`]*)`").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(m[1], "--nodes") {
			lines = append(lines, m[1])
		}
	}
	if len(lines) != 4 {
		t.Fatalf("the page's commands are %q", lines)
	}
	dir := t.TempDir()
	if err := os.Symlink(cairntest.Binary(), filepath.Join(dir, "cairn")); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "bash", "-c", strings.Join(lines, "\n"))
	c.Dir, c.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), cairntest.AsCairn+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
