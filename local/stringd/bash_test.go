package stringd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

func TestBashRemembers(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.ok("bash:x", "cd /; v=1; export w=2; f() { echo f$1; }")
	if got := d.ok("bash:x", "f $v; sh -c 'echo $w'; pwd"); got != "exit: 0 | cwd: /\n---\nf1\n2\n/" {
		t.Errorf("got %q", got)
	}
	if got := d.ok("bash:x", "/bin/echo hi"); !strings.HasSuffix(got, "\n---\nhi") {
		t.Errorf("a path is for the shell: %q", got)
	}
	if got := d.ok("bash:x", "printf 'a\\033[31mred\\033[0m\\r\\n  \\n'"); !strings.HasSuffix(got, "\n---\nared") {
		t.Errorf("escapes: %q", got)
	}
	if got := d.ok("bash:x", "/exec cd /tmp && pwd"); got != "exit: 0 | cwd: /tmp\n---\n/tmp" {
		t.Errorf("/exec in the shell: %q", got)
	}
	has(t, d.ok("bash:x", "true"), "(no output)")
	has(t, d.ok("bash:x", "//info"), "cwd:       /tmp")
	has(t, d.ok("bash:x", "/help"), "everything else")
	has(t, d.ok("bash", "/list"), "x  alive · cwd: /tmp")
	d.ok("bash:x", "exec >/dev/null") // the output is redirected, but not the marker
	d.ok("bash:x", "true")
	d.ok("bash:x", "//close")
	has(t, d.ok("bash:x", "echo back $v"), "\n---\nback")
}

func TestBashFailures(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	has(t, d.fails("bash:x", "false", "EXIT_1"), "ERROR(EXIT_1): exit: 1 | cwd: ")
	has(t, d.fails("bash:x", "if then", "EXIT_2"), "syntax error")
	d.ok("bash:x", "v=kept")
	has(t, d.fails("bash:x", "echo 'open", "EXIT_2"), "unexpected EOF")
	has(t, d.ok("bash:x", "echo $v"), "kept")
	has(t, d.fails("bash:x", "echo bye; exit 3", "EXIT_3"), "bye")
	has(t, d.ok("bash:x", "echo fresh$v"), "\n---\nfresh")
	d.fails("bash:x", "kill -9 $$", "EXIT_137")
	has(t, d.ok("bash:x", "echo again"), "again")
}

func TestBashSizes(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	d := start(t, nil)
	big := strings.Repeat("x", 200<<10)
	if got := d.ok("bash:x", "v='"+big+"'; echo ${#v}"); !strings.HasSuffix(got, fmt.Sprint("\n---\n", len(big))) {
		t.Errorf("a long command: %.100q", got)
	}
	if got := d.ok("main", "/exec v='"+big+"'; echo ${#v}"); !strings.HasSuffix(got, fmt.Sprint("\n---\n", len(big))) {
		t.Errorf("a long /exec: %.100q", got)
	}
	for _, topic := range []string{"bash:x", "main"} {
		got := d.ok(topic, "/exec head -c 10000000 /dev/zero | tr '\\0' y; echo")
		if !strings.Contains(got, "\n... (truncated, ") || len(got) > 1<<20+200 {
			t.Errorf("%s: %d bytes, ends %q", topic, len(got), got[max(0, len(got)-60):])
		}
	}
	has(t, d.ok("bash:x", "echo ${#v}"), fmt.Sprint(len(big)))
}

// alive reports whether a process runs.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// pid reads a process id that a command wrote to a file in the home.
func (d *daemon) pid(name string) int {
	d.t.Helper()
	n := 0
	suite.Eventually(d.t, name+" is written", func() bool {
		b, err := os.ReadFile(d.home(name))
		n, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil && n > 0
	})
	return n
}

// Package shell tests the state of a shell after an interrupted command.
func TestTimeoutsAreTold(t *testing.T) {
	t.Parallel()
	d := start(t, func(c *stringd.Config) { c.Timeout = 100 * time.Millisecond })
	has(t, d.fails("main", "/exec sleep 1000", "TIMEOUT"), "timed out after 100ms | cwd: "+d.home()+"\n---\n(no output)")
	has(t, d.fails("bash:x", "sleep 1000", "TIMEOUT"), "timed out after 100ms | cwd: "+d.home()+"\n---\n")
}

func TestNoOrphans(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*daemon){
		"session": func(d *daemon) { d.do("DELETE", "/sessions/a/bash:x", "") },
		"agent":   func(d *daemon) { d.do("DELETE", "/agents/a", "") },
		"home":    func(d *daemon) { d.do("POST", "/agents", `{"agent_id":"a","home":"`+d.dir+`/elsewhere"}`) },
		"close":   func(d *daemon) { d.s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, nil)
			d.ok("bash:x", "sleep 1000 & echo $! > ~/job; (sleep 1000 & echo $! > ~/sub); echo $$ > ~/shell; nohup sleep 1000 >/dev/null 2>&1 & echo $! > ~/nohup")
			done := make(chan struct{})
			go func() { // and a command that runs
				defer close(done)
				_, _ = d.tryExec(context.Background(), "bash:x", "echo $BASHPID > ~/running; sleep 1000")
			}()
			pids := []int{d.pid("job"), d.pid("sub"), d.pid("shell"), d.pid("nohup"), d.pid("running")}
			end(d)
			for _, p := range pids {
				suite.Eventually(d.t, fmt.Sprint("dead: ", p), func() bool { return !alive(p) })
			}
			<-done
		})
	}
}

func TestShellOff(t *testing.T) {
	t.Parallel()
	d := start(t, func(c *stringd.Config) { c.Memory.Also = []api.Scope{api.Files} })
	d.fails("main", "/exec id", "COMMAND_UNSUPPORTED")
	d.fails("bash:x", "id", "COMMAND_UNSUPPORTED")
}

// Without the scope for files, documents cannot be opened, listed or written.
func TestFilesOff(t *testing.T) {
	t.Parallel()
	d := start(t, func(c *stringd.Config) { c.Memory.Also = nil })
	if err := os.WriteFile(d.home("a.md"), []byte("# A"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []string{"/open a.md", "/ls", "/write b.md\nx", `/set $NAME = "x"`} {
		d.fails("main", cmd, "FILE_NOT_ALLOWED")
	}
	d.ok("main", "/remember this works")
}

func TestSecretsStayOut(t *testing.T) {
	t.Setenv("CAIRN_CLUSTER_SECRET", "s3cret")
	d := start(t, nil)
	for _, topic := range []string{"main", "bash:x"} {
		if strings.Contains(d.ok(topic, "/exec env"), "s3cret") {
			t.Errorf("%s sees the daemon's secret", topic)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(d.dir, "daemon", "tmp")); err != nil || len(entries) != 0 {
		t.Errorf("command files are left: %v %v", entries, err)
	}
}
